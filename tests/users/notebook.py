# %% [markdown]
# # What makes the lawn wet?

# %%
import privet

schema = privet.draft("survey.csv", name="survey")
schema

# %%
found = privet.discover("survey.csv", schema, epsilon=1, ledger="ledger.sqlite")
found

# %%
found.plot()

# %%
privet.discover("survey.csv", schema, epsilon=1, ledger="ledger.sqlite").reused
