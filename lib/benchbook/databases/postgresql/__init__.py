"""PostgreSQL: its adapters and its servers, today's and 9.6."""
