"""Every verdict of the reference run follows from docs/method.md alone: `independent` computes it without the suite."""

import json
import re
from collections import Counter
from copy import deepcopy
from typing import Any

import pytest

import independent
from benchbook import cli

ORDER = ("holds", "mostly holds", "does not hold", "mixed", "undecided", "not comparable", "not run")


@pytest.fixture(scope="module")
def printed() -> list[dict[str, Any]]:
    """Return what `benchbook claims --reference --json` prints."""
    with pytest.MonkeyPatch.context() as patch:
        written: list[str] = []
        patch.setattr("builtins.print", lambda *words, **_: written.extend(map(str, words)))
        assert cli.main(["claims", "--reference", "--json"]) == cli.DONE
    rows: list[dict[str, Any]] = json.loads("".join(written))
    return rows


def test_docs_method_gives_every_verdict_and_interval_of_the_reference_run(printed: list[dict[str, Any]]) -> None:
    assert sum(len(row["comparisons"]) for row in printed) > 1000
    assert [*independent.differences(printed)] == []


def test_the_readme_counts_the_verdicts(printed: list[dict[str, Any]]) -> None:
    counts = Counter(row["verdict"] for row in printed)
    readme = " ".join(independent.ROOT.joinpath("README.md").read_text().split())
    said = re.search(r"Of (\d+) claims in these papers .*? each says why", readme)
    assert said is not None
    expected = [counts.total(), sum(counts[name] for name in ORDER[:4]), *(counts[name] for name in ORDER)]
    assert [int(number) for number in re.findall(r"\d+", said[0])] == expected


def test_another_verdict_or_end_of_an_interval_is_found(printed: list[dict[str, Any]]) -> None:
    changed = deepcopy(printed)
    first = next(row for row in changed if row["verdict"] == "holds")
    first["verdict"] = "mixed"
    first["comparisons"][-1]["low"] *= 1 + 1e-6
    found = [*independent.differences(changed)]
    assert len(found) == 2 and all(difference.startswith(first["id"]) for difference in found)
