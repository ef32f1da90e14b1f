"""Releases made useful: tables and moments with the law of their noise; plans from public facts."""
