"""The same people in polars; lazily, too."""

import polars as pl

import privet

frame = pl.read_csv("survey.csv")
levels = {name: ["no", "yes"] for name in frame.columns}
schema = privet.Schema.of(frame, name="survey", as_of="2026-10-31", levels=levels)
found = privet.discover(frame, schema, epsilon=1, ledger="ledger.sqlite")
print(found.graph.children("rain"), found.graph.neighbours("rain"))
print(found.edges_frame("polars").filter(pl.col("confidence") > 0.5))

again = privet.discover(pl.scan_csv("survey.csv"), schema, epsilon=1, ledger="ledger.sqlite")
print("reused:", again.reused)
