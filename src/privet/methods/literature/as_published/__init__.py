"""Methods as their papers have them, for comparison only. Nothing here is private."""
