"""How much a mean can still move, by a confidence sequence that may be looked at any time."""

from __future__ import annotations

import math

PRIOR_SIZE = 0.1
"""The c² of the mixture. Any value is valid; this one is narrow after some ten numbers."""


def reach_of_rest(std: float, seen: int, total: int, error: float) -> float:
    """Return how far the mean of all numbers may lie from that of the numbers seen so far.

    The numbers are exchangeable, roughly normal, and will be ``total`` in the end. Then the bound
    holds for all ``seen`` at once with probability 1 − `error`, so that one may look after each
    number and stop at will. With m_n the mean after n numbers and s their deviation, the bound is
    that of a t test with a normal mixture over the effect size, of variance 1/c²,

        |m_n − m_N| ≤ s √((n − 1) r / ν),    r = (A − 1) / (1 − q A),
        q = c² / (ν + c²),    A = (1 / (q error²))^{1/n},    ν = n N / (N − n),

    in which ν takes the place of n because the mean of all N numbers, not that of a population, is
    estimated: m_n − m_N is a Brownian bridge, which in the time ν is a Brownian motion.

    Parameters
    ----------
    std : float
        Standard deviation of the numbers seen, with n − 1 degrees of freedom.
    seen, total : int
        n and N.
    error : float in (0, 1)
        The probability that the mean of all lies farther away after any number.

    Returns
    -------
    float
        Infinite if nothing can be said yet; 0 if all numbers were seen.

    References
    ----------
    Lai, "On confidence sequences", Annals of Statistics, 1976; Wang and Ramdas, "Anytime-valid
    t-tests and confidence sequences for Gaussian means with unknown variance", Sequential Analysis,
    2025.

    Examples
    --------
    >>> round(reach_of_rest(0.2, 10, 50, error=0.01), 2)
    0.28
    """
    if seen >= total:
        return 0.0
    if seen < 2:
        return math.inf
    in_all = seen * total / (total - seen)
    prior = PRIOR_SIZE / (in_all + PRIOR_SIZE)
    growth = (1.0 / (prior * error**2)) ** (1.0 / seen)
    if prior * growth >= 1.0:
        return math.inf
    return std * math.sqrt((seen - 1) * (growth - 1.0) / (1.0 - prior * growth) / in_all)
