"""MongoDB: its adapters and its servers."""
