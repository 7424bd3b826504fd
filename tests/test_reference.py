"""What the README says came out of the reference run stands in its figures' data, from the profile it names."""

import json
import re

import pandas as pd
import pytest

from test_project import ROOT

REFERENCE = ROOT / "figures" / "reference"
README = (ROOT / "README.md").read_text()
NUMBER = r"(\d+(?:,\d{3})*(?:\.\d+)?)"
SAID = [
    tuple(text.replace(",", "") for text in found)
    for row in re.findall(r"^\| \[0\d_.*$", README, re.MULTILINE)
    for found in re.findall(rf"{NUMBER} \({NUMBER} to {NUMBER}\)", row)
]


@pytest.fixture(scope="module")
def drawn() -> pd.DataFrame:
    tables = (pd.read_csv(file) for file in sorted(REFERENCE.glob("*ratios*.csv")))
    return pd.concat([table.loc[table["source"] == "here", ["value", "low", "high"]] for table in tables])


def test_the_readme_gives_ratios_with_their_intervals():
    assert len(SAID) >= 10


@pytest.mark.parametrize("said", SAID, ids=" ".join)
def test_a_ratio_of_the_readme_is_drawn(said: tuple[str, str, str], drawn: pd.DataFrame):
    alike = pd.Series(data=True, index=drawn.index)
    for name, text in zip(("value", "low", "high"), said, strict=True):
        decimals = len(text.partition(".")[2])
        alike &= (drawn[name] - float(text)).abs() <= 0.5000001 * 10**-decimals
    assert alike.any(), f"{said[0]} ({said[1]} to {said[2]}) is in no figure's data"


def test_the_profile_that_the_readme_names_is_the_one_that_was_drawn():
    named = set(re.findall(r"\[(\w+) profile\]\(figures/reference\)", README))
    drawn = {json.loads(file.read_text())["profile"] for file in REFERENCE.glob("*.json")}
    assert named == drawn
