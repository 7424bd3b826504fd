"""Bookstore: JSON and XML marshalled and unmarshalled in Java (study `bookstore`)."""
