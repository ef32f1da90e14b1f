"""Searches by name: each is written once and serves every source that gives what it needs."""
