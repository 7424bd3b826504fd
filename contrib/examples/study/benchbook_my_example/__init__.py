"""benchbook's study my_example."""
