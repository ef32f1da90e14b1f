"""Methods side by side on known networks."""
