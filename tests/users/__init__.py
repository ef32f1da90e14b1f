"""Scripts that a new user would write, and what comes of them."""
