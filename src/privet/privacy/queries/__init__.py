"""Questions about rows: exact integers with sensitivities that follow from the schema alone."""
