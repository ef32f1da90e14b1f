"""The figures of Mian, Kaltenpoth, Kamp and Vreeken (2023), and what became of its claims here."""

from __future__ import annotations

Pair = tuple[float | None, float | None]  # normalised SHD and F1
# Its GES is the union of what sites find with BIC.
COLUMNS = ("PERI-MDL", "PERI-BIC", "PERI-AIC", "RFCD-B", "RFCD-M", "NT-ADMM", "union-BIC", "LINGAM")


def _table(*lines: tuple[float, str, str]) -> dict[float, dict[str, Pair]]:
    return {
        key: {
            name: (_number(shd), _number(f1))
            for name, shd, f1 in zip(COLUMNS, first.split(), second.split(), strict=True)
        }
        for key, first, second in lines
    }


def _number(text: str) -> float | None:
    return None if text == "-" else float(text)


# Tables 1 and 2: by the number of sites, over 5, 10 and 15 columns.
BY_SITES = _table(
    (
        3,
        ".185 .281 .371 .277 .230 .599 .429 .445",
        ".741 .694 .647 .697 .739 .273 .657 .340",
    ),
    (
        5,
        ".232 .304 .353 .317 .243 .563 .438 .400",
        ".726 .694 .653 .670 .722 .258 .653 .402",
    ),
    (
        7,
        ".186 .322 .370 .277 .245 .542 .478 .434",
        ".750 .680 .646 .697 .712 .330 .632 .381",
    ),
    (
        9,
        ".194 .342 .337 .277 .255 .603 .520 .440",
        ".740 .659 .678 .711 .712 .248 .608 .350",
    ),
)
# Tables 3 and 4: by the number of columns, over 3, 5, 7 and 9 sites.
BY_COLUMNS = _table(
    (
        5,
        ".180 .310 .350 .240 .250 .710 .440 .500",
        ".850 .790 .740 .820 .820 .290 .730 .400",
    ),
    (
        10,
        ".218 .325 .368 .330 .240 .450 .495 .363",
        ".628 .578 .570 .575 .623 .263 .545 .343",
    ),
    (
        15,
        ".163 .240 .275 - - .280 .375 .310",
        ".613 .568 .550 - - .208 .518 .305",
    ),
)
# Table 5, SHD by the share of the sites; table 6 repeats it as F1, so there is no F1.
SHARES = (0.2, 0.4, 0.6, 0.8, 1.0)
BY_SHARE: dict[tuple[str, str], tuple[float, ...]] = {
    ("asia", "PERI-MDL"): (0.35, 0.34, 0.33, 0.32, 0.31),
    ("asia", "PERI-BIC"): (0.56, 0.55, 0.55, 0.54, 0.53),
    ("asia", "PERI-AIC"): (0.59, 0.59, 0.58, 0.57, 0.57),
    ("waste", "PERI-MDL"): (0.36, 0.35, 0.35, 0.33, 0.32),
    ("waste", "PERI-BIC"): (0.44, 0.43, 0.42, 0.41, 0.39),
    ("waste", "PERI-AIC"): (0.45, 0.45, 0.44, 0.44, 0.43),
}
# Tables 7 and 8, by the scale of the noise.
NOISES = (0.0, 0.1, 1.0, 10.0, 100.0)
BY_NOISE: dict[tuple[str, str], tuple[Pair, ...]] = {
    ("asia", "PERI-MDL"): ((0.43, 0.41), (0.42, 0.42), (0.42, 0.40), (0.50, 0.34), (0.53, 0.31)),
    ("asia", "PERI-BIC"): ((0.52, 0.38), (0.52, 0.38), (0.54, 0.34), (0.60, 0.29), (0.59, 0.27)),
    ("asia", "PERI-AIC"): ((0.55, 0.34), (0.55, 0.34), (0.61, 0.30), (0.62, 0.29), (0.58, 0.27)),
    ("waste", "PERI-MDL"): ((0.35, 0.40), (0.35, 0.41), (0.35, 0.40), (0.42, 0.35), (0.46, 0.34)),
    ("waste", "PERI-BIC"): ((0.41, 0.44), (0.41, 0.43), (0.46, 0.35), (0.60, 0.28), (0.52, 0.27)),
    ("waste", "PERI-AIC"): ((0.50, 0.36), (0.51, 0.37), (0.57, 0.31), (0.58, 0.29), (0.53, 0.26)),
}
# Tables 9 and 10, SACHS: SHD (pairs) and F1.
SACHS: dict[str, tuple[int, float]] = {
    "PERI-MDL": (18, 0.38),
    "PERI-BIC": (18, 0.50),
    "PERI-AIC": (28, 0.43),
    "RFCD-M": (17, 0.37),
    "RFCD-B": (18, 0.28),
    "LINGAM": (17, 0.33),
    "NT-ADMM": (23, 0.38),
    "union-BIC": (25, 0.42),
}
DIFFERENCES = """\
What differs. The paper draws graphs and mechanisms with the Causal Discovery Toolbox; these are
from another generator, with other graphs, networks and noise. So these figures can be held against
those in brackets neither in size nor in order, and say nothing of the paper's claims.

MDL is here a spline code length after the idea of GLOBE, RFCD follows its published description,
NT-ADMM is linear (the paper's is neural), GES is the union of the sites' classes. *Sum* is PERI
with the sum of regrets in place of the largest, one round. Table 6 of the paper (F1) repeats table
5 (SHD) number for number, so it is not shown; PERI-MDL on asia with all sites has 0.31 in table 5
and 0.43 in table 7. **REGED cannot be had** (no public source was found), so its two columns are
missing, and nothing here stands for them. SID is that of DAGs: PERI, unions and GES find classes,
so they have none.
"""
