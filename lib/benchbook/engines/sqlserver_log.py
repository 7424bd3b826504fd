"""An availability group's log: how far each node has come, and what the secondary received."""

from typing import Any, Final

COMMITTED: Final = """
SELECT CAST(last_commit_lsn AS decimal(25, 0)) FROM sys.dm_hadr_database_replica_states
WHERE is_local = 1 AND database_id = DB_ID()
"""
"""On either node: where its last commit, made or redone, stands."""

RECEIVED: Final = """
SELECT SUM(cntr_value) FROM sys.dm_os_performance_counters
WHERE object_name LIKE N'%Availability Replica%' AND counter_name = N'Bytes Received from Replica/sec'
  AND instance_name <> N'_Total'
"""
"""A counter named after a rate that only grows, as such counters do."""

COUNTER: Final = "sys.dm_os_performance_counters, Bytes Received from Replica/sec, of the secondary"


def committed(cursor: Any) -> int:
    """Return where the node's last commit stands; 0 when it has none."""
    return int(_number(cursor, COMMITTED))


def received(cursor: Any) -> float:
    """Return the bytes that the node has received from the other."""
    return float(_number(cursor, RECEIVED))


def _number(cursor: Any, query: str) -> Any:
    cursor.execute(query)
    row = cursor.fetchone()
    return row[0] or 0 if row else 0
