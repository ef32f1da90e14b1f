"""How a vault reads and counts. Only the vault imports this, and what shows a table to its owner."""
