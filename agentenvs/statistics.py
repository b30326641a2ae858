"""Statistics of evaluation tables."""

from __future__ import annotations

import math


def wilson_interval(successes: int, n: int, z: float = 1.959964) -> tuple[float, float]:
    """Returns the Wilson score interval of a success rate.

    (p + z^2 / 2n -+ z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n) with p = successes / n
    (Wilson 1927, "Probable inference, the law of succession, and statistical inference").

    Args:
        successes: Number of successes, 0 <= successes <= n.
        n: Number of trials; (0, 1) is returned for none.
        z: Quantile of the standard normal distribution; the default gives 95 %.

    Returns:
        Lower and upper bound in [0, 1].

    Raises:
        ValueError: If ``successes`` does not lie between 0 and ``n``.
    """
    if not 0 <= successes <= n:
        raise ValueError(f"successes must lie between 0 and n = {n}, got {successes}")
    if n == 0:
        return 0.0, 1.0
    rate = successes / n
    scale = 1 + z * z / n
    centre = (rate + z * z / (2 * n)) / scale
    half = z * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n)) / scale
    # Rounding would otherwise leave the bounds of 0/n and n/n at 1e-17 off their exact values.
    lower = 0.0 if successes == 0 else centre - half
    upper = 1.0 if successes == n else centre + half
    return lower, upper
