"""MongoDB's log: where it stands, and waiting until a replica has applied it."""

import time
from collections.abc import Mapping
from typing import Any

import pymongo
from bson import Timestamp
from pymongo.client_session import ClientSession
from pymongo.errors import NetworkTimeout, PyMongoError, ServerSelectionTimeoutError

from benchbook.engines.mongodb_client import Client
from benchbook.engines.options import PATIENCE_S

Position = tuple[Timestamp | None, Mapping[str, Any] | None]
"""The operation time that the replica must reach, and the cluster time it belongs to; a lone server tells neither."""


def position(primary: Client) -> Position:
    """Return the primary's operation time: that of its last write, as any command's answer states it."""
    with primary.start_session() as session:
        primary.admin.command("ping", session=session)
        return session.operation_time, session.cluster_time


def received(replica: Client) -> float:
    """Return the bytes of the oplog's entries that the replica has fetched."""
    return float(replica.admin.command("serverStatus")["metrics"]["repl"]["network"]["bytes"])


def reaches(replica: Client, position: Position, deadline_s: float) -> bool:
    """Read from the replica what must be as new as `position`: no polling; False when the time ran out."""
    operation_time, cluster_time = position
    assert operation_time is not None and cluster_time is not None
    deadline = time.monotonic() + deadline_s
    with replica.start_session(causal_consistency=True) as session:
        session.advance_cluster_time(cluster_time)
        session.advance_operation_time(operation_time)
        while (left := deadline - time.monotonic()) > 0:
            if _answers(replica, session, min(left, PATIENCE_S)):
                return True
    return False


def _answers(replica: Client, session: ClientSession, timeout_s: float) -> bool:
    """Return whether a read that must wait for the session's time is answered in time."""
    try:
        with pymongo.timeout(timeout_s):
            replica["benchbook"]["nothing"].find_one(session=session)
    except ServerSelectionTimeoutError:
        states = replica.topology_description.server_descriptions().values()
        if any(not isinstance(state.error, NetworkTimeout | None) for state in states):
            raise  # it is gone, not only slow
        return False
    except PyMongoError as error:
        if not error.timeout:
            raise
        return False
    return True
