# %% [markdown]
# # From a survey to a decision
#
# A clinic has asked 20,000 patients about their habits. It wants to know what to act on, and it
# has promised the patients that nobody can tell from the results whether they took part. This page
# goes the whole way: a CSV file, what is public about it, a plan, a graph, a decision.
#
# The patients are invented, so we know the truth: age influences smoking, smoking leaves tar, tar
# makes people cough, and the ward has nothing to do with it.

# %%
import csv
import os
import random
import tempfile

import privet

os.chdir(tempfile.mkdtemp())  # a folder for this page
rng = random.Random(1)
with open("survey.csv", "w", newline="") as file:
    out = csv.writer(file)
    out.writerow(["age", "smoker", "tar", "cough", "ward"])
    for _ in range(20_000):
        age = rng.choice(["young", "middle", "old"])
        smokes = rng.random() < {"young": 0.4, "middle": 0.25, "old": 0.15}[age]
        tar = rng.choices(["low", "medium", "high"], [1, 3, 6] if smokes else [8, 3, 1])[0]
        cough = rng.random() < {"low": 0.1, "medium": 0.35, "high": 0.6}[tar]
        yes = ("no", "yes")
        out.writerow([age, yes[smokes], tar, yes[cough], rng.choice("ABC")])

# %% [markdown]
# ## 1. What is public
#
# Privet never learns from the rows which levels there are: a level that one patient alone has
# would give that patient away. They come from the questionnaire. `tiers` says what comes first:
# nothing in this table is a cause of anybody's age. `as_of` is the day of this snapshot.

# %%
levels = {
    "age": ["young", "middle", "old"],
    "smoker": ["no", "yes"],
    "tar": ["low", "medium", "high"],
    "cough": ["no", "yes"],
    "ward": ["A", "B", "C"],
}
later = ["smoker", "tar", "cough", "ward"]
schema = privet.Schema.of(
    "survey.csv", name="survey", as_of="2026-10-31", levels=levels, tiers=[["age"], later]
)
schema

# %% [markdown]
# A questionnaire is at hand? Then this is the way. If not, `privet.draft("survey.csv")` proposes a
# schema and marks what it had to read from the rows.
#
# ## 2. Plan
#
# What would a budget show? The plan looks at no data and costs nothing. An effect below the figure
# for a typical pair will often be missed.

# %%
privet.plan(schema, rows=20_000, epsilon=1)

# %% [markdown]
# With a tenth of that, every figure is larger. [How to choose ε](../how-to/epsilon.html) says how
# to settle it with an ethics board. Here the board has agreed to ε = 1, once.

# %%
privet.plan(schema, rows=20_000, epsilon=0.1)

# %% [markdown]
# ## 3. Discover
#
# This is the step that spends. The ledger is a file which remembers what was spent on whom.

# %%
found = privet.discover("survey.csv", schema, epsilon=1, ledger="ledger.sqlite")
found

# %% [markdown]
# Run the cell again and nothing more is spent: the same run on the snapshot of that day is known by
# its public facts, and its evidence is searched again. The result says so before all else. Privet
# does not look whether the file has changed: the next snapshot needs the next label.

# %%
privet.discover("survey.csv", schema, epsilon=1, ledger="ledger.sqlite").reused

# %% [markdown]
# ## 4. Before you believe it
#
# Diagnostics name what looks wrong with a column: a level that is never seen, a column that never
# varies. None is good news.

# %%
found.diagnostics

# %% [markdown]
# Why are two columns joined, or not? The answer has an interval that contains the noise, and says
# what decided in the search.

# %%
found.explain("smoker", "tar")

# %%
found.explain("smoker", "cough")

# %% [markdown]
# A pair without an edge is one of two things: separated, or *undecided*, because the test had too
# little power. Here are those of which the evidence cannot say.

# %%
for absence in found.undecided:
    print(absence)

# %% [markdown]
# ## 5. Decide
#
# What follows from the graph depends on arrows, on confidence, and on assumptions that no method
# can check for you: no hidden common causes, no selection, no feedback.
#
# - If smoking reaches cough through tar alone, then a therapy that removes tar should help
#   smokers, too. That is a question for an experiment; the graph says which experiment is worth
#   its money.
# - If the ward is joined to nothing, the wards need not be told apart.
#
# This is what the graph says of cough:

# %%
{"causes": found.graph.parents("cough"), "joined to": found.graph.neighbours("cough")}

# %% [markdown]
# Write down the folder for those who decide: `report.html` is all of it on one page, and can be
# published, because it holds nothing about the patients but what was paid for.

# %%
[path.name for path in found.save("survey-out")]

# %% [markdown]
# Next: [search the same evidence again](second-search.html), for nothing; let somebody else [check
# the results](audit.html); or read [what is promised](../promise.html).
