"""MySQL 5.5, the crud paper's: as today's, but without GTIDs, and its data folder comes with it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchbook.databases.mysql.server import MySQL
from benchbook.servers.fleet import Fleet


class OldMySQL(MySQL):
    """The replica begins at the start of the primary's first log file."""

    product = "mysql@5.5"
    status = "SHOW SLAVE STATUS"
    runs = ("Slave_IO_Running", "Slave_SQL_Running")
    flags = ()  # built without TLS
    pair_flags = ()
    follow = (
        "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={port}, MASTER_USER='{user}', "
        "MASTER_PASSWORD='{password}', MASTER_CONNECT_RETRY=1, MASTER_LOG_FILE='binlog.000001', MASTER_LOG_POS=4",
        "START SLAVE",
    )

    def _initialise(self, fleet: Fleet, programs: dict[str, Path], data: Path, scratch: Path) -> None:
        fleet.run(["cp", "-R", f"{_home(programs)}/data/.", data])

    def _serve_flags(self, programs: dict[str, Path]) -> Sequence[str]:
        home = _home(programs)
        return (*self.flags, f"--basedir={home}", f"--lc-messages-dir={home}/share")


def _home(programs: dict[str, Path]) -> Path:
    return programs["mysqld"].parents[1]


_OLD: Final = OldMySQL()
fleet, launch, ask = _OLD.fleet, _OLD.launch, _OLD.ask
