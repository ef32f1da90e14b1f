"""One file per command: ``add`` declares it, and what it needs is imported when it runs."""
