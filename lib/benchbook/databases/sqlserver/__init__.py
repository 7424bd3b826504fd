"""SQL Server: its adapter, and what its servers say of themselves."""
