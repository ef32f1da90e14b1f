# %% [markdown]
# # An audit
#
# Somebody hands you a folder of results and a promise. This page checks three things: that the
# folder is what a run wrote, that the ledger has the charges, and that the noise does what the
# promise says.

# %%
import json
import math
import os
import tempfile
from pathlib import Path

import privet

os.chdir(tempfile.mkdtemp())  # a folder for this page
made = privet.simulate("cancer", rows=5_000, seed=1, output="cancer.csv")
found = privet.discover(made.data, made.schema, epsilon=1, ledger="ledger.sqlite")
files = found.save("results")

# %% [markdown]
# ## Is the folder whole, and was it paid for?
#
# Every file must be as it was sealed. The evidence is searched again: certificate, graph, pictures
# and page must be what that gives. And the ledger must have the run and its charges.

# %%
privet.verify("results", ledger="ledger.sqlite")

# %% [markdown]
# Somebody makes the promise look better than it is:

# %%
certificate = Path("results/certificate.json")
facts = json.loads(certificate.read_text("utf-8"))
certificate.write_text(json.dumps(facts | {"epsilon": 0.1}), "utf-8")
privet.verify("results", ledger="ledger.sqlite").faults

# %% [markdown]
# Who can change a file can seal the folder again. A signature shows whose promise it is: `privet
# sign key`, `privet sign results` and `privet verify --key`, which need `privet[federated]`.
#
# ## Which assumptions does it rest on?
#
# A proof is as good as its assumptions. Go through the list with whoever has run it.

# %%
found.certificate

# %% [markdown]
# ## Does the noise hide a person?
#
# Two tables differ in one person. Run both many times, and count how often a statement about the
# results comes true. The promise bounds the ratio of the two probabilities by e^ε, whatever the
# statement. A count that contradicts the bound would show a fault; that none does is no proof. The
# proofs are [elsewhere](../proofs/index.html).
#
# The statement here is that the first number which is released is at least as large as the true
# one with the person: that is where the two tables are easiest to tell apart.

# %%
EPSILON, RUNS = 1.0, 200
rows = {"smoker": ["no"] * 10 + ["yes"] * 10, "cough": ["no", "yes"] * 10}
fewer = {name: cells[1:] for name, cells in rows.items()}  # without the first person
small = privet.Schema.of(rows, name="small", levels={name: ["no", "yes"] for name in rows})


def share(table: dict[str, list[str]]) -> float:
    """How often the statement comes true."""
    true = 0
    for _ in range(RUNS):
        run = privet.discover(table, small, epsilon=EPSILON, delta=0, ledger=":memory:")
        true += int(run.evidence.releases[0].values[0] >= 5)
    return true / RUNS


with_person, without = share(rows), share(fewer)
with_person, without

# %% [markdown]
# Both are estimates. Each is off by less than `slack`, but for one time in a million (Hoeffding's
# inequality). So the left side is less than the true probability, and the right side more than the
# true bound.

# %%
slack = math.sqrt(math.log(2 / 1e-6) / (2 * RUNS))
with_person - slack <= math.exp(EPSILON) * (without + slack)

# %% [markdown]
# If that says `True`, the runs do not contradict the promise. More runs make a sharper audit, and
# so do statements that look at all the numbers. To see that such an audit can fail at all, take
# the noise away: then the two tables are told apart every time.

# %%
exact = [
    sum(a == b == "no" for a, b in zip(*table.values(), strict=True)) for table in (rows, fewer)
]
told = [float(count >= 5) for count in exact]
told[0] - slack <= math.exp(EPSILON) * (told[1] + slack)

# %% [markdown]
# Privet's own tests hold every query against all pairs of neighbours of small tables, exactly, and
# its noise against the law that the certificate names.
