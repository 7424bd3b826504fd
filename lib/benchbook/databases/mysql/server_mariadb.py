"""MariaDB from 10.5 on: as MySQL, but for its installer, its GTIDs and its words."""

from pathlib import Path
from typing import Final

from benchbook.databases.mysql.server import MySQL
from benchbook.servers.fleet import Fleet


class MariaDB(MySQL):
    """Annotated rows are left out of the log, as MySQL leaves them out: they would count as replicated bytes."""

    product = "mariadb"
    server = "mariadbd"
    accounts = "mysql.global_priv"
    monitor = ", SLAVE MONITOR"
    status = "SHOW SLAVE STATUS"
    runs = ("Slave_IO_Running", "Slave_SQL_Running")
    flags = ("--skip-ssl",)
    pair_flags = ("--binlog-annotate-row-events=OFF",)
    follow = (
        "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={port}, MASTER_USER='{user}', "
        "MASTER_PASSWORD='{password}', MASTER_CONNECT_RETRY=1, MASTER_SSL=0, MASTER_USE_GTID=slave_pos",
        "START SLAVE",
    )

    def _initialise(self, fleet: Fleet, programs: dict[str, Path], data: Path, scratch: Path) -> None:
        flags = ("--no-defaults", "--skip-test-db", "--skip-name-resolve", "--auth-root-authentication-method=normal")
        fast = ("--innodb-flush-method=nosync", f"--tmpdir={scratch}")
        fleet.run([programs["mariadb-install-db"], *flags, *fast, f"--datadir={data}"])


_MARIADB: Final = MariaDB()
fleet, launch, ask = _MARIADB.fleet, _MARIADB.launch, _MARIADB.ask
