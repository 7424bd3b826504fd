"""PostgreSQL 9.6, nearest to the crud paper's 9.1: as today's, but its log goes by other names."""

from benchbook.engines import postgresql_log as log
from benchbook.engines.postgresql_jsonb import PostgreSQLDocuments
from benchbook.engines.postgresql_relational import PostgreSQLTables
from benchbook.engines.postgresql_session import Connection


class OldPostgreSQLTables(PostgreSQLTables):
    """A record is a row; floats come in full, as later versions send them unasked."""

    name = "postgresql@9.6+relational"
    product = "postgresql@9.6"
    log = log.BEFORE_10

    def _connection(self, url: str) -> Connection:
        connection = super()._connection(url)
        connection.execute("SET extra_float_digits = 3")
        return connection


class OldPostgreSQLDocuments(PostgreSQLDocuments):
    """A record is a document."""

    name = "postgresql@9.6+jsonb"
    product = "postgresql@9.6"
    log = log.BEFORE_10
