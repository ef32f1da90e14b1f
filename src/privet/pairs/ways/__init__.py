"""Ways to orient a pair by name: what they ask, and how they judge the answers."""
