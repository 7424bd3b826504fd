"""The studies on two nodes: after each operation both have the same records."""

import math
from typing import Any

import pytest

from benchbook.databases.adapter import Adapter
from benchbook.registry import products
from benchbook.studies import crud, replication
from cases import PAIRED, Case, index_by_key
from shared_servers import Announce, list_outputs, tamper

Contents = dict[str, dict[str, Any]]


def watching(states: list[tuple[Contents, Contents]]) -> Any:
    """Return a wrapper that notes both nodes' records after each wait of a study."""

    def note_states(adapter: Adapter) -> None:
        insert, wait_for, begun = adapter.insert, adapter.wait_for, []

        def inserting(record: dict[str, Any]) -> None:
            begun.append(record)
            insert(record)

        def waiting(position: object, deadline_s: float) -> bool:
            caught_up = wait_for(position, deadline_s)
            if begun:  # not the wait in `create`
                assert caught_up
                states.append(
                    (index_by_key(adapter.read_all()), index_by_key(adapter.read_all("replica")))
                )
            return caught_up

        adapter.insert, adapter.wait_for = inserting, waiting  # type: ignore[method-assign]

    return note_states


def hold_a_stored_resolution(frame: Any) -> None:
    """Hold that each end of a wait is stored with the resolution that it was found with."""
    waits = frame[frame["metric"].isin(["catch_up_time", "elapsed_time"])]
    assert len(waits) and not waits["timed_out"].any()
    assert (waits["resolution"] > 0).all() and waits["resolution"].map(math.isfinite).all()


@pytest.mark.parametrize("case", [case for case in PAIRED if case[1] == "replicated"], ids="-".join)
def test_crud_ends_each_operation_with_equal_nodes(
    case: Case, announce: Announce, monkeypatch: pytest.MonkeyPatch
) -> None:
    parameters = crud.Parameters(database=case[0], topology="replicated", n=20, repetitions=1)
    announce(*crud.deployment(parameters))
    states: list[tuple[Contents, Contents]] = []
    tamper(monkeypatch, watching(states))
    frame = crud.run(parameters)
    assert list_outputs(frame, 0) == crud.expected(parameters)
    assert all(primary == replica for primary, replica in states)
    inserted, updated, deleted = (primary for primary, _ in states)
    assert (len(inserted), len(updated), len(deleted)) == (20, 20, 0)
    assert inserted.keys() == updated.keys() and all(
        inserted[one] != updated[one] for one in inserted
    )
    hold_a_stored_resolution(frame)


@pytest.mark.parametrize(
    "case", [case for case in PAIRED if case[0] in products.STORES], ids="-".join
)
def test_replication_ends_with_equal_nodes(
    case: Case, announce: Announce, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = "xml_text" if case[0].endswith("+relational") else "document"
    parameters = replication.Parameters(
        database=case[0], topology=case[1], process="apart", model=model, n=20
    )
    announce(*replication.deployment(parameters))
    states: list[tuple[Contents, Contents]] = []
    tamper(monkeypatch, watching(states))
    frame = replication.run(parameters)
    ((primary, replica),) = states
    assert primary == replica and len(primary) == 20
    hold_a_stored_resolution(frame)
