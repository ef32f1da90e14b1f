"""The front doors: everything public is checked here before anything costs."""
