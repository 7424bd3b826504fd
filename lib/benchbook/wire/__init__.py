"""Objects over TCP: framing, a client's trial, and a multi-threaded server in a process of its own."""

from benchbook.wire.client import TRANSPORTS, Client, Report, Transport
from benchbook.wire.framing import LIMIT, WireError
from benchbook.wire.process import Server, serving

__all__ = ["LIMIT", "TRANSPORTS", "Client", "Report", "Server", "Transport", "WireError", "serving"]
