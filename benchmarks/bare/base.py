"""What is written bare on each driver: loops that call the driver and nothing else."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

Record = dict[str, Any]
Records = Sequence[Record]


class Bare(ABC):
    """Opened on a node; its loops call the driver and nothing else.

    Parameters
    ----------
    url
        The node's.
    durability
        The database's; what is set for a whole server the database has set.
    """

    seeks = "article_id"
    """The field that `find` compares."""

    def __init__(self, url: str, durability: str, closing: ExitStack) -> None:
        self.url, self.durability, self.closing = url, durability, closing
        self.connect()

    @abstractmethod
    def connect(self) -> None:
        """Connect; `closing` sees to the end of it."""

    @abstractmethod
    def insert(self, records: Records) -> None:
        """Insert records, a call each."""

    @abstractmethod
    def insert_many(self, records: Records) -> None:
        """Insert records as the driver does it in bulk."""

    @abstractmethod
    def find(self, values: Sequence[str]) -> list[list[Record]]:
        """Return the records of each value."""

    def plain(self, record: Any) -> Record:
        """Return a record that the adapter or bare code found as a dictionary."""
        return dict(record)
