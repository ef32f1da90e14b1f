"""Table 2 and Figure 2 of Kusner et al. (2016) in form: how likely the noise leaves a direction
right, computed from exact scores of public pairs and the law of the noise.

Theirs were ten pairs of a competition that cannot be had; here they are simulated, or the largest
ten of the Tübingen pairs. Scores, bounds and noise are those of this library, so a bound is the
corrected one. As in the paper, a table protects the test half alone and the figure the training
half alone: neither is a promise to everybody, and neither can be bought from a budget here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from statistics import fmean, pstdev
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.bench import chart
from privet.bench.chart import COLOURS, MARKERS, Line, Look, Panel, Scale
from privet.bench.tables import markdown
from privet.networks import tuebingen
from privet.networks.pairs import ADDITIVE, random_pair
from privet.pairs.flips import flipped_difference, flipped_sums
from privet.privacy.queries.additive_noise import Anm, AnmScores, Protect
from privet.privacy.queries.residuals import UNIT, LogIqr, Of
from privet.schema.column import Column
from privet.schema.model import Adjacency, Schema

SCORES = {
    "Spearman's ρ": "spearman",
    "Kendall's τ": "kendall",
    "HSIC": "hsic",
    "√HSIC": "sqrt-hsic",
    "IQR": "iqr",
}
EPSILONS = (None, 0.1, 1.0, 2.0)
SPLITS = 10
PAIRS = 10
ROWS = 2000
RIDGE, KERNEL = 2.0**-8, 0.1  # public, and good where only the test half is protected
SEED = 1

FIGURE_ROWS = 10_000
FIGURE_PAIRS = 10  # of each kind
FIGURE_KINDS = ("gp", "poly", "exp")
FIGURE_EPSILONS = (0.1, 1.0, 10.0, 100.0)
RIDGES = tuple(10.0**power for power in (-2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2))


@dataclass(frozen=True, kw_only=True, eq=False)
class Known:
    """A public pair and its direction; the rows as a query reads them."""

    name: str
    columns: NDArray[np.float64]
    schema: Schema
    forward: bool

    def numbers(self, _columns: Sequence[str]) -> Iterator[NDArray[np.float64]]:
        yield self.columns


@dataclass(frozen=True, kw_only=True)
class Gap:
    """How much more dependence the wrong direction shows, and how far one person of the
    protected half moves that; ``terms`` is how many numbers get noise."""

    right: float  # negative: the exact scores say the wrong direction
    reach: float
    terms: int = 1

    def chance(self, epsilon: float | None) -> float:
        """Probability that the direction is right after the noise."""
        if self.right == 0:
            return 0.5
        flipped = 0.0
        if epsilon is not None:
            law = flipped_difference if self.terms == 1 else flipped_sums
            flipped = law(self.right, self.reach / epsilon)
        return 1 - flipped if self.right > 0 else flipped


def gap(pair: Known, score: str, model: Anm, protect: Protect) -> Gap:
    rows: Any = pair
    sign = 1 if pair.forward else -1
    if score == "iqr":
        return Gap(right=sign * _range_gap(rows, model, protect, pair.schema), reach=1.0, terms=4)
    query = AnmScores(model=model, score=score, release="sign", protect=protect, kernel=KERNEL)
    found = float(query.evaluate(rows, pair.schema)[0])
    return Gap(right=sign * found, reach=float(query.bound(pair.schema)))


def _range_gap(rows: Any, model: Anm, protect: Protect, schema: Schema) -> float:
    """Of four ranges, with noise of scale 1 / ε on the logarithm of each (the corrected Theorem
    4), as if propose-test-release always gave an answer."""

    def log_range(of: Of) -> float:
        query = LogIqr(model=model, of=of, protect=protect)
        return float(query.evaluate(rows, schema)[0]) / UNIT

    return log_range("y") + log_range("x given y") - log_range("x") - log_range("y given x")


def table(folder: str | None = None) -> str:
    """Table 2: mean ± standard deviation over splits, pairs across."""
    pairs = _largest(folder) if folder else _simulated(ADDITIVE, PAIRS, ROWS)
    gaps = {
        label: [[gap(pair, score, _model(s), "test") for s in range(SPLITS)] for pair in pairs]
        for label, score in SCORES.items()
    }
    parts = [f"# Table 2 of Kusner et al. (2016) in form\n\n{_sentence(bool(folder))}\n"]
    for epsilon in EPSILONS:
        parts.append(f"**{'No privacy' if epsilon is None else f'ε = {epsilon:g}'}**\n")
        lines = [
            [label, *(_spread([g.chance(epsilon) for g in splits]) for splits in by_pair)]
            for label, by_pair in gaps.items()
        ]
        parts.append(markdown(["score", *(pair.name for pair in pairs)], lines))
    return "\n".join(parts)


def _spread(chances: Sequence[float]) -> str:
    return f"{fmean(chances):.2f} ± {pstdev(chances):.2f}"


def _sentence(real: bool) -> str:
    which = (
        f"the {PAIRS} Tübingen pairs with the most rows"
        if real
        else f"{PAIRS} simulated pairs of {ROWS:,} rows"
    )
    return (
        f"Probability of the right direction on {which}, mean ± standard deviation over {SPLITS} "
        f"random halves; noise for one replaced person of the test half alone, corrected bounds, "
        f"one noise on the difference of the two scores (four for IQR). Ridge {RIDGE:g}, kernel "
        f"{KERNEL:g}, both public."
    )


def _model(split: int, ridge: float = RIDGE) -> Anm:
    """Halves that only the number of the split decides: these pairs have nothing to hide."""
    return Anm(x="x", y="y", ridge=ridge, key=sha256(bytes([split])).digest())


def figure() -> str:
    """Figure 2: how the ridge decides what training-set privacy leaves of HSIC."""
    looks = tuple(
        Look(name=f"ε = {e:g}", colour=COLOURS[i], marker=MARKERS[i])
        for i, e in enumerate(FIGURE_EPSILONS)
    )
    by_kind = {kind: _chances(kind) for kind in FIGURE_KINDS}
    panels = [_panel(kind, by_kind[kind], looks) for kind in FIGURE_KINDS]
    title = (
        f"Probability of the right direction, HSIC, training half protected ({FIGURE_PAIRS} "
        f"simulated pairs of {FIGURE_ROWS:,} rows each)"
    )
    return chart.page(title, looks, [*panels, _best(by_kind)])


Chances = dict[tuple[float, float], float]


def _chances(kind: str) -> Chances:
    """Mean chance for each ridge and epsilon."""
    pairs = _simulated((kind,), FIGURE_PAIRS, FIGURE_ROWS)
    found = {}
    for ridge in RIDGES:
        gaps = [gap(pair, "hsic", _model(0, ridge), "training") for pair in pairs]
        for epsilon in FIGURE_EPSILONS:
            found[ridge, epsilon] = fmean(each.chance(epsilon) for each in gaps)
    return found


def _panel(kind: str, chances: Chances, looks: Sequence[Look]) -> Panel:
    scale = Scale(label="λ", ticks=RIDGES[::2])
    lines = tuple(
        Line(
            look=look,
            points=tuple((r, chances[r, epsilon]) for r in RIDGES),
        )
        for look, epsilon in zip(looks, FIGURE_EPSILONS, strict=True)
    )
    return Panel(title=kind, scale=scale, lines=lines)


def _best(by_kind: dict[str, Chances]) -> Panel:
    """The right-most plot: the best ridge at each epsilon, found by looking, as in the paper."""
    scale = Scale(label="ε (best λ, found by looking at the truth)", ticks=FIGURE_EPSILONS)
    lines = []
    for i, (kind, chances) in enumerate(by_kind.items()):
        at = -1 - i
        look = Look(name=kind, colour=COLOURS[at], marker=MARKERS[at])
        best = [max(chances[r, e] for r in RIDGES) for e in FIGURE_EPSILONS]
        points = tuple(zip(FIGURE_EPSILONS, best, strict=True))
        lines.append(Line(look=look, points=points))
    return Panel(title="best λ", scale=scale, lines=tuple(lines))


def _simulated(kinds: Sequence[str], count: int, rows: int) -> list[Known]:
    rng = np.random.default_rng(SEED)
    found = []
    for i in range(count):
        pair = random_pair(kinds[i % len(kinds)], rows, rng)
        name = f"{pair.kind} {i // len(kinds) + 1}"
        found.append(_known(name, pair.x, pair.y, pair.bounds(), pair.forward))
    return found


def _largest(folder: str) -> list[Known]:
    pairs = sorted(tuebingen.load(folder), key=lambda pair: (-len(pair.cause), pair.name))[:PAIRS]
    found = []
    for pair in pairs:
        a, b = (column.bounds or (-1.0, 1.0) for column in pair.schema().columns)
        found.append(_known(pair.name, pair.cause, pair.effect, (a, b), True))
    return found


def _known(
    name: str,
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    bounds: tuple[tuple[float, float], tuple[float, float]],
    forward: bool,
) -> Known:
    columns = tuple(
        Column(name=column, kind="numeric", bounds=pair)
        for column, pair in zip("xy", bounds, strict=True)
    )
    schema = Schema(name="pair", columns=columns, adjacency=Adjacency.REPLACE_ONE, rows=len(x))
    inside = [np.clip(v, *b) for v, b in zip((x, y), bounds, strict=True)]
    return Known(name=name, columns=np.column_stack(inside), schema=schema, forward=forward)
