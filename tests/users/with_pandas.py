"""I have a DataFrame of a survey. What is there to know before I hand anything on?"""

import pandas as pd

import privet

frame = pd.read_csv("survey.csv")
print(privet.draft(frame, name="survey").to_toml())

schema = privet.Schema.of(
    frame,
    name="survey",
    levels={name: ["no", "yes"] for name in frame.columns},
    tiers=[["rain", "sprinkler"], ["wet"]],
)
print(privet.plan(schema, rows=3000, epsilon=1))

found = privet.discover(frame, schema, epsilon=1, ledger="ledger.sqlite")
print(found)
edges = found.edges_frame()
print(edges.sort_values("confidence", ascending=False).head())
print(edges.dtypes)
found.save("pandas-out")
