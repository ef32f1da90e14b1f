"""Who has spent what: budgets in exact fractions, caps, charges, and the file that keeps them."""
