"""Clients of one MongoDB node, with the settings that every adapter of MongoDB shares."""

from datetime import UTC, date, datetime, time
from typing import Any, Final

import pymongo
from bson.codec_options import TypeRegistry

from benchbook.engines.options import PATIENCE_S, Durability

Client = pymongo.MongoClient[dict[str, Any]]

_CONCERN: Final[dict[Durability, dict[str, Any]]] = {
    "default": {"w": 1},
    "relaxed": {"w": 1, "journal": False},
    "strict": {"w": 1, "journal": True},
}


def client(url: str, durability: Durability) -> Client:
    """Return a client that connects when it is first used; it may read from a secondary, and retries nothing."""
    return pymongo.MongoClient(url, **_settings(durability))


def async_client(url: str, durability: Durability) -> pymongo.AsyncMongoClient[dict[str, Any]]:
    """Return its asynchronous sister, which belongs to the event loop on which it is first used."""
    return pymongo.AsyncMongoClient(url, **_settings(durability))


def _settings(durability: Durability) -> dict[str, Any]:
    return {
        **_CONCERN[durability],
        "retryWrites": False,
        "retryReads": False,
        "readPreference": "secondaryPreferred",
        "serverSelectionTimeoutMS": PATIENCE_S * 1000,
        "connectTimeoutMS": PATIENCE_S * 1000,
        "tz_aware": True,
        "uuidRepresentation": "standard",
        "type_registry": TypeRegistry(fallback_encoder=_encoded),
    }


def _encoded(value: Any) -> Any:
    """Return a date as BSON can hold it: midnight, UTC."""
    return datetime.combine(value, time(), UTC) if isinstance(value, date) else value
