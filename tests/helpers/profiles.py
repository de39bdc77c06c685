"""How hypothesis draws its examples: the same ones in every run; and powers of ten."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st


def thorough(max_examples: int) -> settings:
    """Return settings for so many examples, the same in every run, of whatever size and time.

    There is no shrinking, which takes minutes; add Phase.shrink to make a failure small.
    """
    return settings(
        max_examples=max_examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.explicit, Phase.generate],
    )


def powers(least: float, most: float) -> st.SearchStrategy[float]:
    """Return a strategy of numbers from 10 ** least to 10 ** most."""
    return st.floats(least, most).map(lambda power: 10.0**power)
