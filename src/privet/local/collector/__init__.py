"""What can be made of randomised reports: evidence, tests, denoised tables, plans."""
