"""What a family of parents is worth, from evidence."""
