"""Graphs, what is known about them, and how they compare."""
