"""How a vault reads and counts. Only the vault and, for a table's owner, ``trust/owner.py`` use this."""
