"""MySQL and what resembles it, MariaDB and MySQL 5.5: their adapters and their servers."""
