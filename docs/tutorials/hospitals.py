# %% [markdown]
# # Three hospitals
#
# Three hospitals hold rows about the same columns, each of patients of its own. No row may leave a
# hospital. Each makes a promise to its own patients, keeps a ledger of its own, and sends one file
# of noisy numbers. Whoever has the files makes one graph of them.
#
# Here are rows to play with: the same mechanisms everywhere, and other people at each place.

# %%
import os
import tempfile

import privet

os.chdir(tempfile.mkdtemp())  # a folder for this page
made = privet.simulate("cancer", rows=10_000, seed=1, output="rows", sites=3)
[path.name for path in made.sites]

# %% [markdown]
# ## One schema for all
#
# Columns, levels and their order must be the same everywhere. They come from a code book, not from
# the rows of one hospital.

# %%
schema = privet.Schema.load(made.schema)
schema

# %% [markdown]
# ## Is it worth it?
#
# The plan compares one hospital alone with all three, before anybody spends anything.

# %%
privet.plan_sites(schema, rows=10_000, epsilon=1, sites=3)

# %% [markdown]
# ## Each hospital measures
#
# `site` is the hospital's label. In life these three lines run in three places, each with the
# hospital's own ledger.

# %%
sent = []
for label, rows in zip("abc", made.sites, strict=True):
    found = privet.discover(
        rows,
        schema,
        epsilon=1,
        delta=1e-6,
        site=f"hospital-{label}",
        ledger=f"{label}.sqlite",
    )
    found.save(f"out-{label}")
    sent.append(f"out-{label}/evidence.json")

# %% [markdown]
# ## Anyone puts them together
#
# This reads no rows and costs nobody anything.

# %%
joint = privet.combine(*sent)
joint

# %% [markdown]
# The search is made again without each hospital in turn. So every edge says on whom it rests:

# %%
for edge in joint.sites.edges:
    print(edge.a, edge.mark, edge.b, "-", edge.said())

# %% [markdown]
# Each hospital finds its own line on the joint certificate, with eight words that its own run
# knows, too. If they are the same, its numbers are there as it sent them.

# %%
joint.certificate

# %% [markdown]
# Next: [what is refused, and who sees what](../federated.html); sites that [add up under
# masks](../together.html), so that only the sum is seen; [what to tell a data protection
# officer](../officer.html).
