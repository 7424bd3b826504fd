"""What ArangoDB's addresses say."""

from urllib.parse import urlsplit

from benchbook.servers.address import location


def origin_and_database(url: str) -> tuple[str, str]:
    """Return where HTTP finds the server of an address, and the database that it names."""
    parts = urlsplit(url)
    return f"http{'s' * (parts.scheme == 'arangodbs')}://{location(url, 8529)}", parts.path.strip("/") or "_system"
