"""How many seconds a test waits for a process that it started: so long only if it hangs."""

PATIENCE = 900
