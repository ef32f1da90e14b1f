"""The command line; it alone speaks."""
