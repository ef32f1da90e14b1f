# %% [markdown]
# # A second search
#
# Privet measures once. What it measured is private already, so whatever is computed from it is
# private too, as often as you like. This page pays once and searches five times.

# %%
import os
import tempfile

import privet

os.chdir(tempfile.mkdtemp())  # a folder for this page
made = privet.simulate("asia", rows=50_000, seed=1, output="asia.csv")
paid = privet.discover(made.data, made.schema, epsilon=1, ledger="ledger.sqlite")
paid

# %% [markdown]
# ## A stricter search
#
# `alpha` says how much evidence an edge needs: it must have odds of 1 / alpha in every test.

# %%
stricter = privet.discover(evidence=paid.evidence, alpha=0.01)
privet.compare(paid.graph, stricter.graph)

# %% [markdown]
# ## Other searches
#
# A search by score, and one that allows for hidden common causes, on the same evidence. The table
# says how each of them marks every pair that one of them joins.

# %%
both = privet.discover(evidence=paid.evidence, method=["interaction-ges", "interaction-fci"])
for line in both.agreement():
    print(line.a, line.b, line.marks)

# %% [markdown]
# ## New knowledge
#
# Somebody remembers that nobody's trip to Asia is an effect of anything else here. Knowledge needs
# no new evidence.

# %%
schema = privet.Schema.load(made.schema)
rest = [name for name in schema.names if name != "asia"]
levels = {column.name: column.levels for column in schema.columns}
informed = privet.Schema.of(levels, name=schema.name, levels=levels, tiers=[["asia"], rest])
privet.discover(evidence=paid.evidence, schema=informed).graph

# %% [markdown]
# ## What it cost
#
# One run stands in the ledger. The searches do not: they read no rows.

# %%
account = privet.Ledger("ledger.sqlite").account("asia")
account

# %% [markdown]
# A second *measurement* would cost. The first run has set the cap to its own ε, so it is refused
# before a row is read:

# %%
try:
    privet.discover(made.data, made.schema, epsilon=1, ledger="ledger.sqlite", reuse=False)
except privet.PrivetError as error:
    print(error)

# %% [markdown]
# Keep `evidence.json`, which `save` writes: it is what makes a result reproducible. Next: [which
# search answers which question](../searches.html).
