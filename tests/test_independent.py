"""Every verdict of the reference run follows from docs/method.md alone: `independent` computes it without the suite."""

import json
from collections import defaultdict
from typing import Any

import numpy as np
import pandas as pd
import pytest

import independent
from benchbook import cli


def test_what_docs_method_says_gives_every_verdict_and_interval_of_the_reference_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["claims", "--reference", "--json"]) == cli.DONE
    claims = {claim["id"]: claim for claim in json.loads(capsys.readouterr().out)}
    rows = pd.read_csv(independent.REFERENCE / "contrasts.csv").fillna({"contrast": ""})
    printed = {(row["host"], row["id"], row["lane"], row["contrast"]): row for row in rows.to_dict("records")}
    files, of_host = independent.claim_files(), defaultdict(list)
    for cell in independent.cells():
        of_host[cell.host].append(cell)
    runs = {host: (independent.Run(cells), independent.biases(cells, files)) for host, cells in of_host.items()}
    for file in files.values():
        for claim in file["claims"]:
            said = claims.pop(claim["id"])
            if claim["compare"] == "untestable":
                assert said["verdict"] == "not testable here"
                continue
            for of in (said, *said["lanes"]):
                run, biases = runs[of["host"]]
                ours, contrasts = independent.judge(run, file, claim, of["lane"], biases)
                assert ours == of["verdict"], (claim["id"], of["lane"])
                for name, contrast in contrasts.items():
                    key = (claim["id"], of["lane"], name)
                    row = printed[of["host"], *key]
                    if contrast is None:
                        assert row["verdict"] == "not testable here", key
                        continue
                    assert_same_numbers(contrast, row)
                    assert (contrast.verdict, contrast.in_most) == (row["verdict"], row["in_most"]), key
    assert not claims


def assert_same_numbers(ours: independent.Judged, row: dict[str, Any]) -> None:
    """Hold a contrast's blocks and the ends of its intervals against its row of contrasts.csv."""
    if all(of.is_ratio for of in ours.intervals):
        found, names = np.min([of.ends for of in ours.intervals], axis=0), ["ratio", "low", "high"]
    else:
        found = min((of.ends for of in ours.intervals if not of.is_ratio), key=lambda ends: float(ends[1]))
        names = ["difference", "difference_low", "difference_high"]
    np.testing.assert_allclose(found, [row[name] for name in names], rtol=1e-9, atol=1e-9, err_msg=str(row))
    assert max(of.blocks for of in ours.intervals) == row["blocks"]
    if not np.isnan(row["overall"]):
        found, names = np.min([of.ends for of in ours.overall], axis=0), ["overall", "overall_low", "overall_high"]
        np.testing.assert_allclose(found, [row[name] for name in names], rtol=1e-9, err_msg=str(row))
