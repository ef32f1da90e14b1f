"""PERI as published: Laplace noise on every regret that a site sends.

[Mian, Kaltenpoth, Kamp, Vreeken 2023], Proposition 5. Its scale is the sensitivity of one regret
over epsilon, and that is charged once for all that is sent. The sensitivity of its Lemma 4 is
(4M + 1) log(1/r), for parameters of at most M and densities of at least r, which the paper leaves
open. Here both are 1 in natural units: M = 1 and log(1/r) = 1.

A paper's noise for comparison; nothing here is private (docs/published.md).
"""

from __future__ import annotations

import numpy as np

from privet.arrays import Floats
from privet.search.peri import Noise

SENSITIVITY = 4 * 1.0 + 1.0  # nats
WHY = (
    "its noise covers one regret, but a site sends one for every step of every iteration, hundreds "
    "in all; a Gaussian density has no lower bound, so one record can move a single regret as far "
    "as its bounds allow; and what the site likes best, from which regrets are counted, can change "
    "with one record. The noise is of floating-point numbers and from a seeded generator (PERI in "
    "docs/published.md)"
)


def noise(epsilon: float, seed: int) -> Noise:
    rng = np.random.default_rng([seed, 1])

    def drawn(count: int) -> Floats:
        return rng.laplace(scale=SENSITIVITY / epsilon, size=count)

    return drawn
