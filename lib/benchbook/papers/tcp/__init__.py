"""JSON and XML sent to a multi-threaded TCP server (study `tcp`)."""
