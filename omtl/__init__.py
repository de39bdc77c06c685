"""The reproduction harness for online multi-task learning."""

import os

from omtl.util import user_folder
from omtl.util.compile_cache import use_compile_cache

# Units run in parallel; threads of the linear algebra would only wait for each other's cores.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
user_folder.find()
use_compile_cache()
