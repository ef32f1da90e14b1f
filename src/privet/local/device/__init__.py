"""What runs where a person's answers are: they leave it randomised, or not at all."""
