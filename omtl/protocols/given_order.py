"""Test, then train, with each task's examples in the order of the data set.

This is for streams that change with time: shuffling would turn a drift into noise. The setting
makes the stream; the arrays are as in `omtl.protocols.cumulative`.
"""

from __future__ import annotations

from omtl.protocols.cumulative import NEEDS as NEEDS
from omtl.protocols.cumulative import play_grid as play_grid
