"""What is asked of the rows, and the basis that it gives a search."""
