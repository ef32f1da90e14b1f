"""Algorithms on judges and scores; they know neither data nor privacy."""
