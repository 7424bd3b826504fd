"""Who replicates from a given server: as each product says it, and to those who may see it."""

import re
from typing import Any

import pymongo
import pytest

from benchbook.servers import launcher
from benchbook.servers.address import format_host_port, name_url_variable
from benchbook.servers.programs import MissingServer


def test_a_user_who_cannot_see_a_hidden_replica_learns_the_missing_right(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with launcher.start_servers("mongodb", "replicated") as running:
        primary, replica = running.deployment.nodes
        monkeypatch.setenv(
            name_url_variable("mongodb"), re.sub("//.*@", "//lea:s3cret@", primary.url)
        )
        with pymongo.MongoClient[Any](primary.url) as client:
            config = client.admin.command("replSetGetConfig")["config"]
            config["members"][1]["hidden"] = True
            client.admin.command("replSetReconfig", config | {"version": config["version"] + 1})
            client.admin.command("createUser", "lea", pwd="s3cret", roles=[])
            unseen = launcher.find_server("mongodb")
            client.admin.command("grantRolesToUser", "lea", roles=["clusterMonitor"])
            seen = launcher.find_server("mongodb")
    assert isinstance(unseen, MissingServer) and isinstance(seen, MissingServer)
    assert (
        " may have replicas that its user may not see: grant it the role clusterMonitor, or give a"
        in unseen.why
    )
    assert (
        f" is replicated to {format_host_port(replica.url, 0)}, so it is no single server"
        in seen.why
    )
