"""CouchDB: its adapter, and its stand-in's servers."""
