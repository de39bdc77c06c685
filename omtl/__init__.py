"""The reproduction harness for online multi-task learning."""

import os

from omtl import own
from omtl._compile_cache import use_compile_cache

# Units run in parallel; threads of the linear algebra would only wait for each other's cores.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
own.find()
use_compile_cache()
