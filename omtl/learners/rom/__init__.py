"""Robust online multi-task learning (Zhang, Zhao, Hao, Soh, Lee, ICDM 2016, "ROM").

The weights of task i are w^i = u + p^i + q^i: what all tasks share, what is the task's own, and an
outlier part that a group lasso keeps at zero where it can (section II.B). Each round has one
example of each task; u is fixed while they are predicted, and learns from all of them at its end.
"""

from omtl.learners.rom.pgd import ROMPGD
from omtl.learners.rom.rda import ROMRDA

__all__ = ["ROMPGD", "ROMRDA"]
