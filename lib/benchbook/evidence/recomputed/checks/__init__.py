"""What is checked, a module a study."""
