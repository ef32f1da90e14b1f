"""My tables are not tidy: what does a draft make of them, and what does it cost me?"""

import random
from collections.abc import Callable

import privet

rng = random.Random(5)


def refusal(ask: Callable[[], object]) -> None:
    try:
        ask()
    except privet.PrivetError as error:
        print("refused:", error)


# 70% of the weights are missing, independently of the ward
ward = [rng.choice("ab") for _ in range(2000)]
weight = [None if rng.random() < 0.7 else round(rng.gauss(75, 12), 1) for _ in ward]
icu = {"ward": ward, "weight": weight}
draft = privet.draft(icu, name="icu")
refusal(lambda: privet.discover(icu, draft, epsilon=1, ledger="book.sqlite"))
draft = privet.draft(icu, name="icu", missing={"weight": "drop"})
found = privet.discover(icu, draft, epsilon=1, delta=0, ledger=":memory:")
print("icu:", *found.graph.nodes, end="; spent only after the choice\n")

# six visits each
pids = [1000 + 7 * i for i in range(80) for _ in range(6)]
visits = {
    "pid": pids,
    "ward": ["abc"[pid % 3] for pid in pids],
    "year": [2015 + i % 6 for i in range(len(pids))],
    "pain": [rng.choice(["no", "yes"]) for _ in pids],
}
draft = privet.draft(visits, name="visits")
print(
    f"visits: person {draft.person}, {draft.rows_per_person} rows per person, columns",
    *draft.names,
)

# a table of counts
groups = [(sex, fate) for sex in ("f", "m") for fate in ("died", "lived")]
counts = {"sex": [g[0] for g in groups], "fate": [g[1] for g in groups], "Freq": [3, 41, 19, 17]}
refusal(lambda: privet.draft(counts, name="ship"))

# cells that are not what they seem
size = 400
cells = {
    "dose": [rng.choice([0.5, 1, 2.5, 10, 20]) for _ in range(size)],
    "length": [f"{rng.randrange(150, 200)},5" for _ in range(size)],
    "smokes": [rng.choice(["Yes", "yes", "no"]) for _ in range(size)],
    "weight": [999 if i % 9 == 0 else rng.randrange(50, 120) for i in range(size)],
    "zip": [rng.randrange(10000, 99999) for _ in range(size)],
    "sex": [rng.choice("fm") for _ in range(size)],
    "age": [rng.randrange(18, 90) for _ in range(size)],
    "age_at_death": [rng.randrange(90, 99) for _ in range(size)],
}
draft = privet.draft(cells, name="cells")
print("doses:", draft.column("dose").kind, *draft.column("dose").levels)
for remark in draft.remarks:
    print(remark)
print("asked:", *(fact[:-5] for fact in draft.unconfirmed if fact.endswith(".tier")))
print("directed by itself:", draft.knowledge.tiers or "nothing")

# 178 rows and 12 columns
few = {f"x{i}": [rng.choice("abc") for _ in range(178)] for i in range(12)}
draft = privet.draft(few, name="few")
for warning in privet.plan(draft, rows=178, epsilon=1).warnings:
    print(warning)
