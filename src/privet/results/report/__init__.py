"""Results for reading: one self-contained page."""
