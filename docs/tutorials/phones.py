# %% [markdown]
# # Answers from phones
#
# Nobody is trusted with the answers here. Each phone randomises its owner's answers and sends one
# report. Whoever collects the reports finds the graph from them. There is no ledger: a report was
# private before it left.

# %%
import os
import tempfile

import privet
from privet.local import Protocol, Randomizer, denoise, plan_protocol
from privet.local.device.files import randomize_file

os.chdir(tempfile.mkdtemp())  # a folder for this page
made = privet.simulate("cancer", rows=50_000, seed=1, output="answers.csv")
schema = privet.Schema.load(made.schema)
schema

# %% [markdown]
# ## On one phone
#
# The person answers; the phone reports. Run the cell twice: the report is another one, the answers
# are the same. No report is more than e^ε times as likely from one set of answers as from any
# other.

# %%
phone = Randomizer(schema, epsilon=4)
answers = {column.name: column.levels[0] for column in schema.columns}
print(answers)
phone.report(answers)

# %% [markdown]
# ## All phones
#
# To try it out, 50,000 phones are played from a file. The reports are written in a secret order,
# and beside them `protocol.json`, which says how they were made: it is public.

# %%
randomize_file(made.data, plan_protocol(schema, epsilon=4), "reports.csv")
protocol = Protocol.load("protocol.json")
with open("reports.csv") as file:
    print(*(next(file) for _ in range(4)), sep="")

# %% [markdown]
# ## The collector
#
# The tests know the noise of the reports. A graph from reports needs far more people than one from
# rows that somebody may hold; `privet plan --local` says how many.

# %%
found = privet.discover("reports.csv", protocol=protocol)
found

# %% [markdown]
# A table of two columns, with the noise taken off as well as it can be. It is for looking at: do
# not test on it, since its errors are not those of counts.

# %%
pair = [column.name for column in schema.columns[:2]]
print(pair)
denoise("reports.csv", protocol, pair).table.round(3)

# %% [markdown]
# Next: [which protocol, and what each is worth](../local.html).
