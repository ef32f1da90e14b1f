"""What an option is. Knows no method, no data and no budget, only names, ranges and words."""
