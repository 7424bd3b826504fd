"""Grids are read strictly, refused with file and line, and expanded as written."""

import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import nbformat
import pytest

from benchbook import cli, grid
from benchbook.cli.command import USAGE
from benchbook.files.inputs import InputError
from benchbook.grid import cell_id, units
from benchbook.grid.cell_id import identify_cell
from benchbook.grid.cells import find_server
from benchbook.grid.grid_file import load_grid
from benchbook.own_data import own_records
from benchbook.own_data.opened_file import OpenedFile, open_file
from benchbook.results.folder import open_results
from benchbook.servers import launcher, networks
from benchbook.servers.programs import AvailableServer, MissingServer
from benchbook.studies import harness
from benchbook.studies.catalogue import SLUGS, find_notebook, load_study

GRID = """\
study: crud
parameters: {seed: 1, blocks: 2, repetitions: 3}
grid:
  - {database: [noop], n: [10, 20]}
  - {database: [mongodb], topology: [single, replicated], n: [10]}
overrides:
  - {when: {n: 20}, set: {repetitions: 1}, why: "long"}
profiles:
  quick: {n: [5], repetitions: 2, blocks: 1}
  all: {}
  twice: {aa: [{database: mongodb, topology: single}]}
  bare: {overrides: [], grid: [{database: noop, n: [20]}]}
"""
Writer = Callable[[str], Path]


@pytest.fixture
def write(home: Path) -> Writer:
    path = home / "papermill_params" / "crud.yaml"

    def writer(text: str) -> Path:
        path.write_text(text)
        return path

    return writer


def points(profile: str = "all", **options: Any) -> list[tuple[Any, ...]]:
    cells = grid.make_plan(["crud"], profile, **options).cells
    found = [
        (
            c.parameters.database,
            c.parameters.topology,
            c.parameters.n,
            c.parameters.repetitions,
            c.arm,
        )
        for c in cells
    ]  # type: ignore[attr-defined]
    return sorted(found)


def test_overrides_apply_to_the_union_of_the_products(write: Writer):
    write(GRID)
    once = [
        ("mongodb", "replicated", 10, 3, "a"),
        ("mongodb", "single", 10, 3, "a"),
        ("noop", "single", 10, 3, "a"),
        ("noop", "single", 20, 1, "a"),
    ]
    assert points() == sorted(once * 2)


def test_a_profile_replaces_values_the_grid_or_the_overrides(write: Writer):
    write(GRID)
    assert [point[2:4] for point in points("quick")] == [(5, 2)] * 3
    assert points("bare") == [("noop", "single", 20, 3, "a")] * 2


def test_a_point_that_two_products_give_is_one_cell(write: Writer):
    write(
        GRID.replace(
            "  - {database: [mongodb]",
            "  - {database: [noop], n: [20, 10]}\n  - {database: [mongodb]",
        )
    )
    assert len(points()) == 8


def test_a_second_arm_is_the_same_cell_with_another_identity(write: Writer):
    write(GRID)
    cells = [
        cell
        for cell in grid.make_plan(["crud"], "twice", ["database=mongodb", "topology=single"]).cells
        if cell.block == 0
    ]
    a, b = sorted(cells, key=lambda cell: cell.arm)
    assert (a.arm, b.arm) == ("a", "b") and a.identity != b.identity
    assert a.parameters.model_dump(exclude={"arm"}) == b.parameters.model_dump(exclude={"arm"})


def test_where_filters_and_set_replaces(write: Writer):
    write(GRID)
    assert points(where=["database=noop"], changes=["n=7,8", "blocks=1"]) == [
        ("noop", "single", 7, 3, "a"),
        ("noop", "single", 8, 3, "a"),
    ]
    assert {point[2] for point in points(where=["n=20,10"])} == {10, 20}
    assert {point[2] for point in points(where=["n=10,20", "n=20"])} == {20}


def test_the_commands_set_option_replaces_overrides(write: Writer):
    write(GRID)
    assert {point[2:4] for point in points(changes=["repetitions=7"])} == {(10, 7), (20, 7)}


def test_an_override_or_the_command_changes_the_number_of_blocks(write: Writer):
    write(GRID.replace("set: {repetitions: 1}", "set: {repetitions: 1, blocks: 1}"))
    assert [point[2] for point in points()].count(20) == 1
    assert [point[2] for point in points(changes=["blocks=3"])].count(20) == 3
    write(GRID.replace("set: {repetitions: 1}", "set: {blocks: many}"))
    with pytest.raises(
        InputError, match=r"crud\.yaml:7: blocks should be a valid integer, not 'many'"
    ):
        points()


@pytest.mark.parametrize(
    ("change", "line", "says"),
    [
        (("study: crud", "study: drivers"), 1, "grid of crud, not of drivers"),
        (("seed: 1,", "sed: 1,"), 2, "no parameter 'sed': did you mean 'seed'?"),
        (("seed: 1,", "seed: [1, 2],"), 2, "seed: takes one value here"),
        (("blocks: 2", "blocks: 0"), 2, "blocks should be greater than or equal to 1, not 0"),
        (("\ngrid:", "\ngrdi:"), 3, "no section 'grdi': did you mean 'grid'?"),
        (("n: [10, 20]", "n: [10, 0]"), 4, "n should be greater than or equal to 1, not 0"),
        (("n: [10, 20]", "n: [10, 1e6]"), 4, "valid integer, not 1000000.0"),
        (("n: [10, 20]", "n: [10, 010]"), 4, "010 is read in more than one way"),
        (("n: [10, 20]", "n: []"), 4, "n: should have at least one value"),
        (("n: [10, 20]", "n: [10], n: [20]"), 4, "duplicate key 'n'"),
        (("n: [10, 20]", "n: [10], article_index: no"), 4, "valid boolean, not 'no'"),
        (("database: [noop]", "database: [nop]"), 4, "did you mean 'noop'?"),
        (
            ("database: [noop]", "database: [noop], constraints: [off]"),
            4,
            "constraints: off is for relational databases",
        ),
        (
            ("  - {database: [mongodb]", "  - {engin: [mongodb]"),
            5,
            "no parameter 'engin': did you mean 'database'?",
        ),
        (("when: {n: 20}", "when: {m: 20}"), 7, "no parameter 'm'"),
        ((', why: "long"', ""), 7, "why is missing"),
        (("quick: {n: [5]", "quick: {nn: [5]"), 9, "no parameter 'nn': did you mean 'n'?"),
        (("aa: [{database: mongodb", "aa: [{database: couchdb"), 11, "cannot have an A/A check"),
        (("aa: [{database", "aa: [{engin"), 11, "did you mean 'database'?"),
        (
            ("overrides:\n", "exclude: [{when: {n: 1}}]\noverrides:\n"),
            6,
            "why is missing",
        ),
        (
            ("overrides:\n", "exclude: [{when: {engin: noop}, why: w}]\noverrides:\n"),
            6,
            "did you mean 'database'?",
        ),
        (("overrides:\n", "aa: [{m: 1}]\noverrides:\n"), 6, "no parameter 'm'"),
        (("all: {}", "all: {if_available: [{engin: [noop]}]}"), 10, "did you mean 'database'?"),
        (("profiles:", "profiles: ["), 10, "expected"),
        (("seed: 1,", "seed: !!int 1,"), 2, "tags"),
        (("seed: 1,", "seed: &s 1, n: *s,"), 2, "aliases are not allowed"),
        (("seed: 1,", f"seed: {'1' * 5000},"), 2, "seed should be a valid integer"),
        (("seed: 1,", "seed: 1e999,"), 2, "beyond the largest number"),
        (("blocks: 2", "blocks: 1001"), 2, "blocks should be less than or equal to 1000, not 1001"),
        (("n: [10, 20]", "n: [10000001]"), 4, "n should be less than or equal to 10000000"),
        (
            ("n: [10, 20]", "n: [10], repetitions: [10001]"),
            4,
            "repetitions should be less than or equal to 10000",
        ),
        (
            ("n: [10, 20]", "n: [10], timeout_s: [86401.0]"),
            4,
            "timeout_s should be less than or equal to 86400",
        ),
        (
            ("n: [10, 20]", "n: [10], comments_per_article: [10.0]"),
            4,
            "should be 10 or 100 or 'all', not 10.0",
        ),
        (
            (
                "n: [10, 20]",
                f"n: {[*range(1, 1001)]}, seed: {[*range(1000)]}, repetitions: {[*range(1, 1001)]}",
            ),
            4,
            "1,000,000,002 points of the grid: at most 10,000 are taken",
        ),
        (("n: [10, 20]", f"n: [10], x: {'[' * 5000}"), 4, "nested deeper than 20 levels"),
        (("seed: 1,", "\0seed: 1,"), 2, "control characters are not allowed: remove U+0000"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_wrong_grid_is_refused_with_file_and_line(
    write: Writer, change: tuple[str, str], line: int, says: str
):
    assert change[0] in GRID
    write(GRID.replace(*change))
    with pytest.raises(InputError) as refused:
        grid.make_plan(["crud"], "twice")
    assert str(refused.value).startswith(f"papermill_params/crud.yaml:{line}: "), refused.value
    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (GRID.encode("utf-16"), ":1: is UTF-16, not UTF-8"),
        (
            GRID.encode() + "# é".encode("latin-1"),
            f":{GRID.count(chr(10)) + 1}: is not UTF-8 (byte 0xE9)",
        ),
        (b"#" * (2**20 + 1), ": holds 1,048,577 bytes: at most 1,048,576 are read"),
        ("folder", ": is a folder: give one of its files"),
        ("absent", ": there is no such file"),
    ],
    ids=lambda value: str(value)[:12],
)
def test_a_grid_that_is_not_text_is_refused_at_once(write: Writer, data: bytes | str, says: str):
    path = write(GRID)
    if isinstance(data, bytes):
        path.write_bytes(data)
    else:
        path.unlink()
        if data == "folder":
            path.mkdir()
    with pytest.raises(InputError) as refused:
        load_grid("crud")
    assert str(refused.value).startswith(f"papermill_params/crud.yaml{says}")


def test_a_byte_order_mark_is_ignored(write: Writer):
    path = write(GRID)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert points("bare")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not a Jupyter notebook"),
        ("[]", "not a Jupyter notebook"),
        ("[" * 100_000, "not a Jupyter notebook"),
        (
            '{"cells": [{"cell_type": "code", "metadata": {}, "source": ["%timeit 1"]}]}',
            "code cell 1: line 1: ",
        ),
    ],
    ids=["half", "list", "deep", "magic"],
)
def test_a_notebook_that_cannot_be_read_is_named(
    home: Path, monkeypatch: pytest.MonkeyPatch, text: str, says: str
):
    (home / "notebooks" / "04_crud.ipynb").write_text(text)
    units._digest_files.cache_clear()
    with pytest.raises(InputError) as refused:
        grid.make_plan(["crud"], "smoke", ["database=noop"])
    assert str(refused.value).startswith("notebooks/04_crud.ipynb") and says in str(refused.value)


@pytest.mark.parametrize("slug", SLUGS)
@pytest.mark.parametrize(
    "tagged",
    [[], ["markdown"], ["code", "code"], ["number"]],
    ids=["none", "text", "two", "number"],
)
def test_a_notebook_is_refused_unless_exactly_one_code_cell_has_the_tag_parameters(
    home: Path, capsys: pytest.CaptureFixture[str], slug: str, tagged: list[str]
):
    path = home / "notebooks" / find_notebook(slug).name
    notebook = json.loads(path.read_text())
    for cell in notebook["cells"]:
        tags = cell["metadata"].pop("tags", [])
        if "draw" in tags:
            cell["metadata"]["tags"] = ["draw"]
    if tagged == ["number"]:
        notebook["cells"][1]["metadata"]["tags"] = 5
        tagged = []
    for kind in tagged:
        untagged = (
            one
            for one in notebook["cells"]
            if one["cell_type"] == kind and "tags" not in one["metadata"]
        )
        next(untagged)["metadata"]["tags"] = ["parameters"]
    path.write_text(json.dumps(notebook))
    units._digest_files.cache_clear()
    assert cli.main(["plan", slug, "--profile", "smoke"]) == USAGE
    said = capsys.readouterr().err
    assert (
        f"notebooks/{path.name}: " in said
        and "give the code cell that sets the parameters the tag" in said
    )


def test_too_many_cells_in_all_blocks_are_counted_and_refused(write: Writer):
    write(GRID)
    with pytest.raises(InputError, match="100,000 cells in all blocks: at most 50,000"):
        seeds = ",".join(map(str, range(100)))
        grid.make_plan(["crud"], "bare", changes=[f"seed={seeds}", "blocks=1000"])


def test_a_file_of_records_is_the_same_whatever_folder_its_path_is_read_in(
    write: Writer, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    write(GRID.replace("n: [10, 20]", "n: [10, 20], dataset_file: [own.csv]"))
    (home / "own.csv").write_text("a\nx\n")
    (tmp_path / "own.csv").write_text("a\ny\n")
    monkeypatch.chdir(tmp_path)
    (one,) = grid.make_plan(["crud"], "all", ["database=noop", "n=10"], ["blocks=1"]).cells
    (other,) = grid.make_plan(
        ["crud"],
        "all",
        ["database=noop", "n=10", "dataset_file=own.csv"],
        ["blocks=1", "dataset_file=own.csv"],
    ).cells
    found = [cell.parameters.model_dump()["dataset_file"] for cell in (one, other)]
    assert found == [str(home / "own.csv"), str(tmp_path / "own.csv")]
    assert one.identity != other.identity and one.records != other.records


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"slugs": ["crut"]}, "crut: no such study: did you mean 'crud'?"),
        ({"profile": "quik"}, "did you mean 'quick'?"),
        (
            {"where": ["engin=noop"]},
            "--where engin=noop: no parameter 'engin': did you mean 'database'?",
        ),
        (
            {"where": ["arm=a,database=noop"]},
            "'database=noop' is another parameter's: write --where database=noop beside it",
        ),
        ({"where": ["database=nop"]}, "no cell is like that: of database, did you mean 'noop'?"),
        (
            {"where": ["database=noop,nop"]},
            "no cell is like that: of database, did you mean 'noop'?",
        ),
        (
            {"where": ["database=mysql+json"]},
            "the profile all has no database=mysql+json; --set database=noop,mongodb,mysql+json",
        ),
        (
            {"where": ["database=mongodb", "database=noop"]},
            "database=noop is not with the other --where",
        ),
        ({"where": ["database"]}, "write --where NAME=VALUE"),
        ({"changes": ["n=many"]}, "--set n=many: n should be a valid integer, not 'many'"),
        ({"changes": ["blcks=1"]}, "did you mean 'blocks'?"),
        ({"changes": ["n=1" + "_" * 100_000]}, "n should be a valid integer"),
        ({"changes": [f"n={','.join(map(str, range(1, 20_001)))}"]}, "at most 10,000 are taken"),
        ({"changes": ["dataset_file=absent.csv"]}, "absent.csv: there is no such file"),
        (
            {"changes": ["dataset_file=own.jsonl"]},
            "own.jsonl:2: a JSON object is expected, not a number",
        ),
        ({"changes": ["dataset_file=loop.csv"]}, "loop.csv"),
        ({"where": [f"n={'9' * 5000}"]}, "no cell is like that"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_an_unknown_name_is_refused_with_the_nearest_name(
    write: Writer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: dict[str, Any],
    says: str,
):
    write(GRID)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.jsonl").write_text('{"a": 1}\n5\n')
    (tmp_path / "loop.csv").symlink_to("loop.csv")
    with pytest.raises(InputError) as refused:
        grid.make_plan(**{"slugs": ["crud"], "profile": "all", **options})
    assert says in str(refused.value)


def test_a_set_language_selects_its_cells_or_changes_all_cells_to_it(
    home: Path,
):
    def codecs(profile: str, *changes: str) -> set[tuple[Any, ...]]:
        cells = [
            one.parameters.model_dump()
            for one in grid.make_plan(["bookstore"], profile, changes=changes).cells
        ]
        return {
            (one["language"], one["json_codec"], one["xml_codec"], one["keys"]) for one in cells
        }

    java, moxy, python = (
        ("java", "jackson", "jaxb"),
        ("java", "moxy", "jaxb"),
        ("python", "orjson", "lxml"),
    )
    assert {one[:3] for one in codecs("decide", "language=java")} == {java, moxy}
    assert {one[:3] for one in codecs("decide", "language=python")} == {python}
    assert {one[:3] for one in codecs("quick", "language=java,python")} == {java, python}
    # crud's cells of this profile are all Python's.
    turned = [
        one.parameters.model_dump()
        for one in grid.make_plan(["crud"], "quick", changes=["language=node"]).cells
    ]
    assert {(one["language"], one["database"], one["topology"]) for one in turned} == {
        ("node", "mongodb", "single"),
        ("node", "mongodb", "replicated"),
    }
    assert all(
        "language" in one.why
        for one in grid.make_plan(["crud"], "quick", changes=["language=node"]).skipped
    )


PROFILES = ["smoke", "quick", "decide", "evening", "night", "paper"]


def test_a_block_visits_each_deployment_once_in_an_order_of_its_own(home: Path):
    cells = grid.make_plan((), "quick").cells
    orders = []
    for block in range(1, 4):  # the first has what runs once
        inside = [cell for cell in cells if cell.block == block]
        assert [cell.position for cell in inside] == list(range(len(inside)))
        changes = sum(a.deployment != b.deployment for a, b in itertools.pairwise(inside))
        assert changes == len({cell.deployment for cell in inside}) - 1
        orders.append([cell.identity for cell in inside])
    assert (
        len({tuple(order) for order in orders}) == 3
        and len({frozenset(order) for order in orders}) == 1
    )
    assert [cell.key for cell in grid.make_plan((), "quick").cells] == [
        cell.key for cell in cells
    ], "a plan is repeatable"


def test_levels_are_given_as_text_or_as_objects(home: Path):
    as_text = grid.make_plan(
        ["crud"], "smoke", ["arm=a"], ["database=mongodb,mysql+json", "n=1,20"]
    )
    levels = {"database": ["mongodb", "mysql+json"], "n": [1, 20]}
    assert grid.make_plan(["crud"], "smoke", {"arm": ["a"]}, levels) == as_text
    with pytest.raises(InputError, match="--set n=few: "):
        grid.make_plan(["crud"], "smoke", changes={"n": ["few"]})


@pytest.mark.parametrize("profile", PROFILES)
def test_every_profile_of_every_study_is_valid(profile: str):
    assert {cell.study for cell in grid.make_plan((), profile).cells} == set(SLUGS)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("slug", SLUGS)
def test_every_study_of_every_profile_has_identical_arms(slug: str, profile: str):
    cells = grid.make_plan([slug], profile).cells
    first = {cell.combination for cell in cells if cell.arm == "a" and not cell.missing}
    second = [cell for cell in cells if cell.arm == "b"]
    assert second and not any(cell.missing for cell in second)
    for cell in second:
        as_first = json.dumps({**json.loads(cell.combination[1]), "arm": "a"}, sort_keys=True)
        assert (cell.study, as_first) in first


@pytest.mark.parametrize("profile", PROFILES)
def test_every_size_of_crud_also_has_the_loop_without_a_database(profile: str):
    cells = [cell.parameters for cell in grid.make_plan(["crud"], profile).cells]
    stored = {cell.n for cell in cells if cell.database != "noop"}
    assert {cell.n for cell in cells if cell.database == "noop"} == stored


STANDS_IN = GRID + "  languages: {without: {java: [{database: [noop], n: [30]}]}}\n"


def test_a_missing_language_is_replaced_by_other_cells(
    write: Writer, fresh: Callable[[], None], monkeypatch: pytest.MonkeyPatch
):
    write(STANDS_IN)
    monkeypatch.setattr(
        harness, "find_harness", lambda language: harness.Harness("java 17", ("java",))
    )
    assert points("languages") == points() and grid.make_plan(["crud"], "languages").skipped == []
    fresh()
    monkeypatch.setattr(harness, "find_harness", lambda language: harness.MissingHarness("no Java"))
    assert {point for point in points("languages") if point not in points()} == {
        ("noop", "single", 30, 3, "a")
    }
    write(STANDS_IN.replace("java:", "jav:"))
    with pytest.raises(InputError, match="no language or network 'jav': did you mean 'java'"):
        grid.make_plan(["crud"], "languages")


def test_a_missing_network_is_replaced_by_other_cells(
    write: Writer, fresh: Callable[[], None], monkeypatch: pytest.MonkeyPatch
):
    write(STANDS_IN.replace("java:", "lan-100m:"))
    monkeypatch.setattr(networks, "find_network_fault", lambda network: None)
    assert points("languages") == points()
    fresh()
    monkeypatch.setattr(networks, "find_network_fault", lambda network: f"network {network}: no")
    assert {point for point in points("languages") if point not in points()} == {
        ("noop", "single", 30, 3, "a")
    }


FOUND = (
    GRID
    + "  found: {if_available: [{database: [couchdb, noop], n: [10]}], aa: [{database: couchdb}]}\n"
)


@pytest.mark.parametrize(
    ("former", "refusal"),
    [
        (FOUND.replace("if_available", "where_found"), "no parameter 'where_found'"),
        (
            GRID.replace("profiles:", "cuts: [{when: {n: 10}, why: no}]\nprofiles:"),
            "no section 'cuts'",
        ),
    ],
)
def test_former_names_of_sections_are_refused(write: Writer, former: str, refusal: str):
    write(former)
    with pytest.raises(InputError, match=refusal):
        grid.make_plan(["crud"], "found")


def test_an_optional_product_has_cells_only_where_it_is_found(
    write: Writer, fresh: Callable[[], None], monkeypatch: pytest.MonkeyPatch
):
    write(FOUND)
    there = AvailableServer("couchdb", "3.5", "address", {})
    monkeypatch.setattr(launcher, "find_server", lambda product, topology: there)
    twice = [("couchdb", "single", 10, 3, arm) for arm in "ab"] * 2
    assert points("found") == sorted([*points(), *twice]), (
        "noop with n = 10 is in the grid: it is one cell"
    )
    assert grid.make_plan(["crud"], "found").skipped == []
    fresh()
    monkeypatch.setattr(
        launcher,
        "find_server",
        lambda product, topology: MissingServer(product, "no server\nat all"),
    )
    assert points("found") == points()
    assert grid.make_plan(["crud"], "found").skipped == [
        grid.SkippedCells("couchdb", ("crud",), "no server")
    ]
    assert {
        cell.missing
        for cell in grid.make_plan(["crud"], "found").cells
        if cell.product == "mongodb"
    } == {"no server\nat all"}, "what the grid has everywhere is skipped with its reason"


def test_set_and_where_apply_to_the_cells_of_an_optional_product(
    write: Writer, fresh: Callable[[], None], monkeypatch: pytest.MonkeyPatch
):
    write(FOUND)
    monkeypatch.setattr(
        launcher,
        "find_server",
        lambda product, topology: AvailableServer(product, "1", "address", {}),
    )
    asked = points("found", where=["database=couchdb", "arm=a"], changes=["n=7", "blocks=1"])
    assert asked == [("couchdb", "single", 7, 3, "a")]


def test_a_pair_of_databases_needs_the_servers_of_both(
    write: Writer, fresh: Callable[[], None], monkeypatch: pytest.MonkeyPatch
):
    pair = "mongodb/mysql+relational"
    write(GRID + f"  found: {{if_available: [{{database: [{pair}], n: [10]}}]}}\n")
    versions = {"mongodb": "6.0.5", "mysql": "8.0"}

    def find(product: str, topology: str) -> AvailableServer | MissingServer:
        if product in versions:
            return AvailableServer(product, versions[product], "address", {})
        return MissingServer(product, "no server\nat all")

    def pairs() -> list[grid.Cell]:
        cells = grid.make_plan(["crud"], "found").cells
        return [cell for cell in cells if cell.parameters.database == pair]

    monkeypatch.setattr(launcher, "find_server", find)
    before = {cell.identity for cell in pairs()}
    assert {(cell.product, cell.missing) for cell in pairs()} == {("mongodb", None)}
    # The second server's version is part of the cell's identity.
    fresh()
    versions["mysql"] = "8.4"
    assert not before & {cell.identity for cell in pairs()}
    # Without its server there is no such cell, and the plan says which product is missing.
    fresh()
    del versions["mysql"]
    assert pairs() == []
    assert grid.make_plan(["crud"], "found").skipped == [
        grid.SkippedCells("mysql", ("crud",), "no server")
    ]


CUT = GRID.replace("profiles:", 'exclude: [{when: {n: 20}, why: "too long"}]\nprofiles:').replace(
    "database: [noop], n", "database: [couchdb], n"
)


def test_an_excluded_cell_is_skipped_with_the_reason(
    write: Writer, fresh: Callable[[], None], monkeypatch: pytest.MonkeyPatch
):
    write(CUT)
    found = AvailableServer("couchdb", "3", "address", {})
    monkeypatch.setattr(launcher, "find_server", lambda product, topology: found)
    cells = [cell for cell in grid.make_plan(["crud"], "all").cells if cell.product == "couchdb"]
    why = {cell.parameters.n: cell.missing for cell in cells}
    assert why == {10: None, 20: "too long"}


def test_raising_blocks_keeps_the_cells_that_are_done(write: Writer):
    write(GRID)
    before = {cell.key for cell in grid.make_plan(["crud"], "all").cells}
    assert before < {cell.key for cell in grid.make_plan(["crud"], "all", [], ["blocks=3"]).cells}


def test_a_plan_has_the_states_of_the_written_results(write: Writer):
    write(GRID)
    one, two, *_ = grid.make_plan(["crud"], "all").cells
    for cell, state in ((one, "done"), (two, "failed")):
        open_results().write_cell(
            {"study": "crud", "cell_id": cell.identity, "block": cell.block, "state": state}
        )
    states = [cell.state for cell in grid.make_plan(["crud"], "all").cells]
    assert states[:3] == ["done", "failed", "todo"]


@pytest.fixture
def fresh() -> Iterator[Callable[[], None]]:
    """What forgets the notebooks and servers that were read, now and at the end."""

    def forget() -> None:
        units._digest_files.cache_clear()
        find_server.cache_clear()

    forget()
    yield forget
    forget()


@pytest.fixture
def identity(home: Path, fresh: Callable[[], None]) -> Callable[..., str]:
    """The identity of a cell of `crud`, whose notebook may be changed."""

    def now(**options: Any) -> str:
        fresh()
        parameters = load_study("crud").Parameters(**{"database": "noop", **options})
        return identify_cell("crud", parameters, options.pop("server", "1.0"))

    return now


def test_identity_changes_with_parameters_arm_server_and_host(
    identity: Callable[..., str], monkeypatch: pytest.MonkeyPatch
):
    parameters = load_study("crud").Parameters
    for name in (
        "PGOPTIONS",
        "PYTHONPATH",
        "JAVA_TOOL_OPTIONS",
        "TZ",
        "LC_ALL",
        "LD_PRELOAD",
        "HOME",
    ):
        monkeypatch.setenv(name, "")  # none of them reaches what is measured
    base = identity()
    for name in ("PGOPTIONS", "PYTHONPATH", "JAVA_TOOL_OPTIONS", "TZ", "LC_ALL", "HOME"):
        monkeypatch.setenv(name, "theirs")
    assert identity() == base
    with monkeypatch.context() as patch:
        patch.setenv("LD_LIBRARY_PATH", "/their/libraries")
        assert identity() != base
    assert base == identity() and len(base) == cell_id.LENGTH
    others = {
        identity(n=2),
        identity(arm="b"),
        identity(seed=2),
        identify_cell("crud", parameters(database="noop"), "2.0"),
    }
    monkeypatch.setattr("benchbook.grid.cell_id.name_host", lambda: "elsewhere")
    assert len({base, *others, identity()}) == 6


def test_a_server_is_known_by_its_version():
    assert cell_id.write_server_version(AvailableServer("mongodb", "6.0.5", "wheel", {})) == "6.0.5"


def test_identity_changes_with_the_versions_of_the_libraries(
    identity: Callable[..., str], monkeypatch: pytest.MonkeyPatch
):
    base = identity(database="mongodb")
    real = cell_id._read_library_version
    monkeypatch.setattr(
        cell_id, "_read_library_version", lambda name: "99" if name == "pymongo" else real(name)
    )
    assert identity(database="mongodb") != base
    monkeypatch.setattr(
        cell_id, "_read_library_version", lambda name: "99" if name == "psycopg" else real(name)
    )
    assert identity(database="mongodb") == base, "no cell of MongoDB uses psycopg"
    monkeypatch.setattr(cell_id.platform, "python_version", lambda: "3.99.0")
    assert identity(database="mongodb") != base


def test_identity_changes_with_the_records_of_a_users_file(
    identity: Callable[..., str], tmp_path: Path
):
    own = tmp_path / "own.csv"
    own.write_text("a\n1\n")
    base = identity(dataset_file=str(own))
    own.write_text("a\n2\n")
    assert identity(dataset_file=str(own)) != base


def test_identity_changes_with_the_notebooks_code_but_not_with_its_drawing_or_prose(
    identity: Callable[..., str], home: Path
):
    path = home / "notebooks" / "04_crud.ipynb"
    base, notebook = identity(), nbformat.read(path, 4)
    code_cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    drawn = next(cell for cell in code_cells if "draw" in cell.metadata.get("tags", []))
    drawn.source += "\nmore = 1"
    notebook.cells[0].source += "\nMore prose."
    code_cells[1].source += "\n# why"
    nbformat.write(notebook, path)
    assert identity() == base
    code_cells[1].source += "\nmore = 1"
    nbformat.write(notebook, path)
    assert identity() != base


def test_the_found_server_is_part_of_the_plan(
    write: Writer, fresh: Callable[[], None], monkeypatch: pytest.MonkeyPatch
):
    write(GRID)
    monkeypatch.setattr(
        launcher, "find_server", lambda product, topology: MissingServer(product, "no mongod here")
    )
    missing = {
        cell.missing for cell in grid.make_plan(["crud"], "all").cells if cell.product == "mongodb"
    }
    assert missing == {"no mongod here"}
    assert all(
        cell.missing is None
        for cell in grid.make_plan(["crud"], "all").cells
        if cell.product == "none"
    )


@pytest.mark.parametrize("command", ["plan", "run"])
def test_a_command_reads_a_file_of_records_once(
    home: Path, monkeypatch: pytest.MonkeyPatch, command: str
):
    own = home / "own.csv"
    own.write_text("a,b\n1,x\n2,y\n")
    opened: list[Path] = []

    def count_read(path: Path, options: Mapping[str, str]) -> OpenedFile:
        opened.append(path)
        return open_file(path, options)

    monkeypatch.setattr(own_records, "open_file", count_read)
    monkeypatch.setattr("benchbook.runner.batch.Batch.run", lambda self: None)
    arguments = ["--set", f"dataset_file={own}", "--set", "n=2"]
    cli.main(
        [
            command,
            "bookstore",
            "tcp",
            "--profile",
            "smoke",
            "--where",
            "language=python",
            *arguments,
        ]
    )
    assert opened == [own]
