"""benchbook's codec my_example."""
