"""How a vault reads and counts. None but the vault uses this, and trust.owner for the owner."""
