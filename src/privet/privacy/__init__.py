"""What the promise rests on, one folder to audit: ledger, mechanisms, queries, engines, vault.

A question (``queries``) reaches rows (``engines``) only through the vault, which charges the ledger
before it looks and answers with noise (``mechanisms``). Nothing outside this folder touches a row,
a charge or a draw of noise.
"""
