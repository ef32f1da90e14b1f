"""A source of evidence and a search, by name."""
