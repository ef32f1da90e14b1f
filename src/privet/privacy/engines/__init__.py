"""How a vault reads and counts: sources, encoding, tables. Only the vault imports this."""
