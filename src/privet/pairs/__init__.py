"""Ways to tell which of two columns is the cause."""
