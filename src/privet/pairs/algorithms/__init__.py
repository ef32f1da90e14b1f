"""Which of two columns causes the other: algorithms on numbers and on tables of noisy counts."""
