"""The order in which test files begin, and which of them share a process."""

from pathlib import Path
from typing import Final

import pytest
from typing_extensions import override
from xdist.scheduler import LoadFileScheduling

CHAINS: Final = (
    ("adapters", "capabilities", "received_bytes"),
    (
        "study_crud",
        "study_replication",
        "replicated_studies",
        "study_drivers",
        "languages",
        "couchdb",
    ),
    (
        *("figures", "save", "titles", "names", "manuscript", "numbers", "verdict_figures"),
        *("reference", "report_tables", "artefact", "docs", "explorer", "results_check"),
        *("claims_since", "orders", "run_diff", "t_tests", "verdict_days", "judged_tables"),
    ),
)
"""Files that run in one process, because their tests share servers, or the judged reference run."""

# fmt: off
FIRST: Final = (
    *CHAINS[0], *CHAINS[1], *CHAINS[2],
    "lab", "hosts", "runner", "suite", "networks", "report", "lessons", "upgrade", "plugins",
    "servers", "setup", "locks", "containers", "your_documents",
    "until_decided", "answerable_claims", "environments", "load_monitor", "cli", "simulations",
    "servers_given", "stop_signals", "versions", "server_check", "platforms",
    "stored_means", "independent", "given_studies", "own_processors", "wheel", "secrets",
)
# fmt: on
"""Files of half a minute or more: they begin first, so that all processes end about together."""


class Scheduler(LoadFileScheduling):
    """Gives each process one file at a time, or one chain of files."""

    @override
    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        name = Path(file).stem.removeprefix("test_")
        for chain in CHAINS:
            if name in chain:
                return chain[0]
        return file


def sort_items(items: list[pytest.Item]) -> None:
    """Sort the tests by file: first `FIRST`, then the others as they were collected."""
    names = [f"test_{name}" for name in FIRST] + [item.path.stem for item in items]
    order = {name: number for number, name in enumerate(dict.fromkeys(names))}
    items.sort(key=lambda item: order[item.path.stem])
