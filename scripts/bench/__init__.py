"""The benchmarks: `python -m scripts.bench [PART ...]`.

Contenders of a benchmark take turns in one run, the first of them before each other one, and each
is compared with the turn of the first just before it: what else the machine does then troubles
both. A turn runs the same call several times and counts its median. Compiling and preparing are not
timed. All that is concluded from is a ratio of times in one run.
"""

import os

# Before numpy is loaded: one core is measured, so no library may use a second one.
for _library in ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR", "VECLIB_MAXIMUM"):
    os.environ[f"{_library}_NUM_THREADS"] = "1"
