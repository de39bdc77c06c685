"""Whether a printed mean and spread are possible for a number of runs."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import ceil, floor

import numpy as np


def unit_of(number: str) -> float:
    """Return one unit of the last printed digit."""
    return 10.0 ** -len(number.partition(".")[2])


def count_is_possible(mean: str, std: str, runs: int, most: int, errors: bool = False) -> bool:
    """Return whether counts from 0 to `most` over a number of runs can have this mean and spread.

    This is exact except for two conditions that are necessary but not sufficient: the sum of
    squares has the parity of the sum, and lies between those of the most even and the most uneven
    counts (GRIM and GRIMMER: Brown and Heathers 2017, Anaya 2016).

    Parameters
    ----------
    mean, std : str
        As printed; an empty spread is ignored.
    runs : int
    most : int
    errors : bool
        Whether the spread is a standard error; a standard deviation by default.
    """
    half = Fraction(unit_of(mean)).limit_denominator() / 2
    least = max(0, ceil(runs * (Fraction(mean) - half)))
    greatest = min(runs * most, floor(runs * (Fraction(mean) + half)))
    for total in range(least, greatest + 1):
        if not std:
            return True
        lacking = runs * most - total  # counted from the maximum, which many learners nearly reach
        bounds = []
        for side in (-1, 1):
            spread = Fraction(std) + side * Fraction(unit_of(std)).limit_denominator() / 2
            square = max(spread, Fraction(0)) ** 2 * (runs if errors else 1)
            bounds.append((runs - 1) * square + Fraction(lacking**2, runs))
        each, more = divmod(lacking, runs)
        full, rest = divmod(lacking, most)
        low = max(ceil(bounds[0]), more * (each + 1) ** 2 + (runs - more) * each**2)
        high = min(floor(bounds[1]), full * most**2 + rest**2)
        if low + (low - lacking) % 2 <= high:
            return True
    return False


def share_is_possible(mean: str, std: str, runs: int, errors: bool = False) -> bool:
    """Return whether numbers from 0 to 1 can have a mean and a spread, as `count_is_possible`.

    Both may have been rounded: of all means that are printed so, the one closest to a half lets the
    numbers spread most.
    """
    half = unit_of(mean) / 2
    centre = float(np.clip(0.5, float(mean) - half, float(mean) + half))
    spread = max(0.0, float(std) - unit_of(std) / 2)
    widest = runs / (runs - 1) * centre * (1.0 - centre)
    return spread**2 * (runs if errors else 1) <= widest


def at_least(chances: Iterable[float], needed: int) -> float:
    """Return the probability that at least this many independent events happen."""
    counts = np.ones(1)
    for chance in chances:
        counts = np.convolve(counts, [1.0 - chance, chance])
    return float(counts[needed:].sum())
