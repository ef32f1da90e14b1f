"""What is public about a table: columns, levels, bounds, knowledge, who counts as a neighbour."""
