"""JSON and XML documents replicated one way (study `replication`)."""
