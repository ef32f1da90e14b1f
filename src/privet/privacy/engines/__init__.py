"""How a vault reads and counts. Only the vault uses this, and ``trust/owner.py`` for an owner."""
