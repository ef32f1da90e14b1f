"""Methods of the literature made sound, one file each, and what only they use."""
