"""Functions that are inlined do in compiled code what they do in Python."""

from __future__ import annotations

import subprocess
import sys

import pytest
from numba import njit

from omtl.kernel.inlining import OPTIONS, inlined
from omtl.util.paths import ROOT


@inlined
def root(x):
    """Return the square root of a number."""
    if x < 0.0:
        raise ValueError("a negative number has no root")
    return x**0.5


@inlined
def fourth_root(x):
    """Return the root of the root of a number."""
    return root(root(x))


def test_an_inlined_function_raises_as_in_python() -> None:
    """Also from within another one."""

    @njit(**OPTIONS)
    def both(x):
        return fourth_root(x) + root(x)

    assert both(16.0) == 6.0
    with pytest.raises(ValueError, match="no root"):
        both(-1.0)


PRINTING = """
from numba import njit
from omtl.kernel.inlining import OPTIONS, inlined

@inlined
def announced(x):
    print("met", x)
    return x

@njit(**OPTIONS)
def twice(x):
    return announced(announced(x))

assert twice(3) == 3
"""


def test_an_inlined_function_can_print() -> None:
    """Who writes a learner looks into it so; without its environment the program ended or hung.

    In a process of its own: libraries that a test before has loaded may have replaced `print`.
    """
    command = [sys.executable, "-c", PRINTING]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "met 3\nmet 3\n"), done.stderr
