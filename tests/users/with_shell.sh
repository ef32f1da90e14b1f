# I have a file and no wish to learn Python.
set -e
privet schema draft survey.csv > schema.toml
privet plan schema.toml --rows 3000 --epsilon 1 > plan.txt
privet discover survey.csv --schema schema.toml --epsilon 1 --ledger ledger.sqlite --output out --json > found.json
privet convert out/graph.json graph.csv
privet convert out/graph.json graph.graphml
privet ledger show --ledger ledger.sqlite
