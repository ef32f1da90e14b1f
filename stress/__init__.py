"""Attacks that take minutes: generated inputs, kills, broken disks, races, a long run.

``make stress`` runs them all; each is also a module by itself, such as ``python -m stress.fuzz``.
"""
