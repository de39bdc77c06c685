"""The reproduction harness for online multi-task learning."""

from omtl._compile_cache import use_compile_cache

use_compile_cache()
