"""Couchbase: its adapter, and its stand-in's server."""
