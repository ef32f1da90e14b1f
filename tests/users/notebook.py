# %% [markdown]
# # What makes the lawn wet?

# %%
import privet

schema = privet.draft("survey.csv", name="survey")
schema

# %%
found = privet.discover("survey.csv", schema, epsilon=1, ledger="ledger.sqlite", as_of="2026-10-31")
found

# %%
found.plot()

# %%
privet.discover("survey.csv", schema, epsilon=1, ledger="ledger.sqlite", as_of="2026-10-31").reused
