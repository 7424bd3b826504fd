"""Every verdict of the reference run follows from docs/method.md, computed by `independent`."""

import json
from copy import deepcopy
from typing import Any

import pytest

import independent
from benchbook import cli
from benchbook.cli.command import DONE


@pytest.fixture(scope="module")
def printed() -> list[dict[str, Any]]:
    """Return the lines that `benchbook claims --reference --json` prints."""
    with pytest.MonkeyPatch.context() as patch:
        written: list[str] = []
        patch.setattr("builtins.print", lambda *words, **_: written.extend(map(str, words)))
        assert cli.main(["claims", "--reference", "--json"]) == DONE
    rows: list[dict[str, Any]] = json.loads("".join(written))
    return rows


@pytest.fixture(scope="module")
def judged() -> list[tuple[str, independent.Judged]]:
    """Return each claim's id with the verdict that docs/method.md gives."""
    return [*independent.judge_claims()]


def test_docs_method_gives_every_verdict_and_interval_of_the_reference_run(
    judged: list[tuple[str, independent.Judged]], printed: list[dict[str, Any]]
) -> None:
    assert sum(len(row["comparisons"]) for row in printed) > 1000
    assert [*independent.differences(judged, printed)] == []


def test_another_verdict_or_end_of_an_interval_is_found(
    judged: list[tuple[str, independent.Judged]], printed: list[dict[str, Any]]
) -> None:
    changed = deepcopy(printed)
    first = next(row for row in changed if row["verdict"] == "holds")
    first["verdict"] = "mixed"
    first["comparisons"][-1]["low"] *= 1 + 1e-6
    found = [*independent.differences(judged, changed)]
    assert len(found) == 2 and all(difference.startswith(first["id"]) for difference in found)
