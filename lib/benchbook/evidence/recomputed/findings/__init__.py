"""What does not follow, a module or two a study."""
