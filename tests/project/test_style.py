"""The library, its tools and its lessons are in the style of CONTRIBUTING.md."""

from collections import defaultdict
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Final

import pytest

from checkout import ROOT
from style import FINDERS, Module, find_long_modules, read_modules

LIBRARY: Final = ROOT / "lib" / "benchbook"
FOLDERS: Final = {
    "tools": ROOT / "tools",
    "lessons": ROOT / "notebooks" / "lessons" / "benchbook_lessons",
    "benchmarks": ROOT / "benchmarks",
    "tests": ROOT / "tests",
    "more databases": ROOT / "contrib" / "benchbook-more-databases" / "benchbook_more_databases",
    "more databases' tests": ROOT / "contrib" / "benchbook-more-databases" / "tests",
} | {path.stem: path for path in LIBRARY.iterdir() if path.name != "__pycache__"}
TOP: Final = {"__init__.py", "paths.py", "schema.py", "version.py"}
SHARED: Final = {"Parameters"}
"""Names that several classes may have: each study has its `Parameters`."""

SHARED_CONSTANTS: Final = {
    # Each unit has its version, each product's package its products.
    *("VERSION", "PRODUCTS"),
    # Each study's module ends with it; it is the name of the study of two sides, too.
    "STUDY",
    # Each paper's module has them.
    *("PAPER", "FIGURES", "TABLES", "GRIDS", "PAPER_LEVELS", "LANGUAGE_LEVELS", "N"),
    # A bound of each module that waits, reads or nests.
    *("PATIENCE_S", "TIMEOUT_S", "MAX_TIMEOUT_S", "MAX_BYTES", "MAX_DEPTH", "SEED", "KEY"),
    # In measured code, whose digests would change: a study's own metrics, models and outputs.
    *("METRICS", "MODELS", "JAVA_CODECS", "CARD_OUTPUTS", "MEMORY_OUTPUTS"),
    # The variable of a type.
    "T",
}
"""Names that constants of several modules may have."""

LAXER: Final = {
    "long functions": ("tests",),
    "long modules": ("tests", "benchmarks"),
}
"""Checks that some folders need not pass."""

PASS: Final = "    pass\n"
EXAMPLE: Final = f"""
def told(rows, other):
    # Nobody reads this.
    if rest := [one for row in rows for one in row]:
        return 1 if rest else 2 if other else 3
{PASS * 60}

# {"a line that is too long " * 5}
"""
"""A module with one place for each check but the length of modules."""


@cache
def modules(package: str) -> list[Module]:
    return read_modules(FOLDERS[package])


def places(check: str, package: str) -> list[str]:
    found: list[str] = []
    for module in modules(package):
        name = module.path.relative_to(ROOT)
        found += [f"{name}:{line}: {what}" for line, what in FINDERS[check](module)]
    return found


@pytest.mark.parametrize("package", sorted(FOLDERS))
@pytest.mark.parametrize("check", FINDERS)
def test_code_has_no(check: str, package: str) -> None:
    if package in LAXER.get(check, ()):
        return
    found = places(check, package)
    assert found == []


def test_only_four_files_lie_at_the_top_of_the_library() -> None:
    assert {path.name for path in LIBRARY.glob("*.py")} == TOP


def test_no_two_classes_of_the_library_share_a_name() -> None:
    places = defaultdict(list)
    packages = [modules(name) for name, path in FOLDERS.items() if path.parent == LIBRARY]
    for module in chain.from_iterable(packages):
        for name, line in module.classes:
            # An underscore does not make another word of a name.
            places[name.lstrip("_")].append(f"{module.path.relative_to(LIBRARY)}:{line}")
    shared = {name: found for name, found in places.items() if len(found) > 1}
    assert shared.keys() <= SHARED, shared


def test_a_constant_s_name_has_one_meaning_in_the_library() -> None:
    places = defaultdict(list)
    packages = [modules(name) for name, path in FOLDERS.items() if path.parent == LIBRARY]
    for module in chain.from_iterable(packages):
        for name, line in module.constants:
            places[name].append(f"{module.path.relative_to(LIBRARY)}:{line}")
    shared = {name: found for name, found in places.items() if len(found) > 1}
    assert shared.keys() - SHARED_CONSTANTS == set(), shared
    assert SHARED_CONSTANTS - shared.keys() == set(), "it is no longer shared: take it off"


def test_the_checks_find_what_they_are_for(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(EXAMPLE)
    module = Module(path)
    found = {check: len(list(find(module))) for check, find in FINDERS.items()}
    assert found == dict.fromkeys(FINDERS, 1) | {"long modules": 0}
    path.write_text("\n" * 601)
    assert len(list(find_long_modules(Module(path)))) == 1
