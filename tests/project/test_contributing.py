"""CONTRIBUTING's walks lead through few modules, each with the names that it is said to have."""

import re
from pathlib import Path

import pytest

from checkout import ROOT

LIBRARY = ROOT / "lib" / "benchbook"
STEP = re.compile(r"^\d+\. (.*)$", re.MULTILINE)
CODE = re.compile(r"`([^`]+)`")


@pytest.mark.parametrize(
    ("walk", "max_modules"), [("a number", 12), ("a claim", 5), ("a file of yours", 10)]
)
def test_a_walk_leads_through_few_modules_that_have_its_names(walk: str, max_modules: int):
    text = (ROOT / "CONTRIBUTING.md").read_text()
    section = text.partition(f"## Follow {walk}\n")[2].partition("\n## ")[0]
    steps = STEP.findall(section)
    assert len(steps) > 4
    modules: set[Path] = set()
    for step in steps:
        # A step begins with its file; the identifiers after it are in that file.
        file, *words = CODE.findall(step)
        path = LIBRARY / file
        if path.is_file():
            modules.add(path)
        else:
            path = ROOT / file
        content = path.read_text()
        for word in words:
            if word.isidentifier():
                assert re.search(rf"\b{word}\b", content), step
    assert len(modules) <= max_modules
