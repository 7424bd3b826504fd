"""PostgreSQL's log: where it stands, and how far a replica has applied it."""

import time
from dataclasses import dataclass
from select import select
from typing import Any, Final

import psycopg
from psycopg.pq import ExecStatus, TransactionStatus


@dataclass(frozen=True)
class Log:
    """What a version of the server calls its log; each asks for a position in bytes.

    Parameters
    ----------
    flushed, inserted
        Where the primary's log ends: on the disk, and in memory.
    sent
        How much of it the primary has sent to its replica.
    replayed
        How much of it the replica has applied.
    """

    flushed: bytes
    inserted: bytes
    sent: bytes
    replayed: bytes


SINCE_10: Final = Log(
    b"SELECT pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0')",
    b"SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')",
    b"SELECT pg_wal_lsn_diff(max(sent_lsn), '0/0') FROM pg_stat_replication WHERE state = 'streaming'",
    b"SELECT pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')",
)
BEFORE_10: Final = Log(
    b"SELECT pg_xlog_location_diff(pg_current_xlog_flush_location(), '0/0')",
    b"SELECT pg_xlog_location_diff(pg_current_xlog_insert_location(), '0/0')",
    b"SELECT max(pg_xlog_location_diff(sent_location, '0/0')) FROM pg_stat_replication WHERE state = 'streaming'",
    b"SELECT pg_xlog_location_diff(pg_last_xlog_replay_location(), '0/0')",
)

_POLL_S: Final = 0.0001
_PAGE: Final = 8192
_HEADERS: Final = (24, 40)  # of a page, and of a file's first page


def record_end(position: int) -> int:
    """Return the end of the last record before an insert position, which at a page's start lies behind its header."""
    offset = position % _PAGE
    return position - offset if offset in _HEADERS else position


class Replay:
    """Watches how far a replica has applied the log, on a connection of its own, and gives up when it must.

    A query is sent and its answer awaited by hand, for psycopg's calls know no deadline. An answer that came too late
    is read by the next wait: the position only grows, so it is still true.
    """

    def __init__(self, log: Log, connection: psycopg.Connection[Any]) -> None:
        self._query = log.replayed
        self._link = connection.pgconn

    def reaches(self, position: int, deadline_s: float) -> bool:
        """Poll until the replica has applied the log up to `position`; False when the time ran out."""
        deadline = time.monotonic() + deadline_s
        while (replayed := self._replayed(deadline)) is not None and replayed < position:
            time.sleep(_POLL_S)
            if time.monotonic() > deadline:
                return False
        return replayed is not None

    def _replayed(self, deadline: float) -> int | None:
        """Return the position; None when the replica has not answered by `deadline` (s, monotonic)."""
        if self._link.transaction_status != TransactionStatus.ACTIVE:
            self._link.send_query(self._query)
            self._link.flush()
        while self._link.is_busy():
            ready, _, _ = select([self._link.socket], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                return None
            self._link.consume_input()
        result = self._link.get_result()
        while self._link.get_result() is not None:
            pass
        if result is None or result.status != ExecStatus.TUPLES_OK:
            raise psycopg.OperationalError(self._link.get_error_message())
        return int(result.get_value(0, 0) or b"0")
