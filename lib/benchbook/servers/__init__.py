"""Find, start, pair, watch and stop local servers, or take given addresses: what comes out is a `Deployment`."""

from benchbook.servers.errors import ServerError
from benchbook.servers.products import PRODUCTS, find, product_of, topologies
from benchbook.servers.programs import Found, Missing
from benchbook.servers.running import Running, describe, session, start, up

__all__ = [
    "PRODUCTS",
    "Found",
    "Missing",
    "Running",
    "ServerError",
    "describe",
    "find",
    "product_of",
    "session",
    "start",
    "topologies",
    "up",
]
