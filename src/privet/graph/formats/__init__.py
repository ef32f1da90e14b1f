"""Graphs in the formats of files and of other programs."""
