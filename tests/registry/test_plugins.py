"""`benchbook new` writes packages that run at once, and adding one leaves all other cells done."""

import itertools
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import Mock

import pytest

from benchbook import cli
from benchbook.cli.command import FAILED, USAGE
from benchbook.files.inputs import InputError
from benchbook.registry import plugins
from benchbook.results.server_checks import CHECKS_FILE
from benchbook.studies.catalogue import SLUGS
from checkout import ROOT
from plugin_environment import Environment

BIN = Path(sys.executable).parent
PAGE = (ROOT / "docs" / "extending.md").read_text()
MADE = [line.split()[2:] for line in PAGE.splitlines() if line.startswith("benchbook new ")] + [
    ["database", "my_store"]
]
"""The page's packages, and a database with another name than its addresses."""

THEN = {}
"""The page's further commands for each kind."""
for row in PAGE.splitlines():
    if re.match(r"\| (codec|database|study) ", row):
        kind, *_, commands = row.strip("| ").split(" | ")
        THEN[kind] = re.findall(r"`benchbook ([^`]+)`", commands)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Return an environment with a plug-in of each kind; `before` is the plan without them."""
    folder = tmp_path_factory.mktemp("plugins")
    made = Environment(folder, [folder / f"benchbook-{name}" for _, name, *_ in MADE])
    for kind, name, *more in MADE:
        assert (
            cli.main(["new", kind, name, "--folder", str(folder / f"benchbook-{name}"), *more]) == 0
        )
    made.before = made.identities()
    made.install()
    return made


@pytest.fixture
def servers(environment: Environment) -> Iterator[dict[str, str]]:
    """Yield the addresses of the databases' example servers, by the variables that give them."""
    with ExitStack() as stack:
        urls = {}
        for name in ("tinystore", "my_store"):
            command = [environment.python, "-m", f"benchbook_{name}.example_server"]
            running = stack.enter_context(
                subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            )
            stack.callback(running.terminate)
            urls[f"BENCHBOOK_{name.upper()}_URL"] = running.stdout.readline().strip()
        yield urls


def test_the_tests_of_every_new_package_pass_at_once(environment: Environment):
    tests = [one / "tests" for one in environment.plugins]
    ran = environment.ran(
        "-m", "pytest", "-q", "-p", "no:cacheprovider", "--override-ini=addopts=", *tests
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "skipped" not in ran.stdout


def test_every_new_package_is_as_clean_as_the_suite(environment: Environment):
    folders = [str(one) for one in environment.plugins]
    for command in (["check", "--select=E,F,W,UP,B,SIM,RET,PERF,N,RUF"], ["format", "--check"]):
        config = ["--isolated", "--line-length=100", "--target-version=py311"]
        ran = subprocess.run(
            [BIN / "ruff", *command, *config, *folders], capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, ran.stdout


def test_adding_plug_ins_leaves_all_other_cells_unchanged(environment: Environment):
    after = environment.identities()
    assert environment.before <= after
    assert {study for study, _ in after - environment.before} == {"packing"}


def test_a_plug_ins_own_code_is_part_of_its_cells_identity(environment: Environment):
    chosen = ["plan", "bookstore", "--set", "keys=paper", "--set", "json_codec=ujson,orjson"]

    def identities(study: str = "bookstore") -> dict[str, set[str]]:
        cells = environment.run_as_json(
            *(chosen if study == "bookstore" else ["plan", study, "--profile", "smoke"])
        )
        codecs = {cell["parameters"].get("json_codec") for cell in cells}
        return {
            one: {c["identity"] for c in cells if c["parameters"].get("json_codec") == one}
            for one in codecs
        }

    before = identities()
    codec = environment.plugins[0] / "benchbook_ujson" / "codec.py"
    written = codec.read_text()
    codec.write_text(written + "\nCHANGED = True\n")
    after = identities()
    codec.write_text(written)
    assert not before["ujson"] & after["ujson"]
    assert before["orjson"] == after["orjson"]

    of_study = identities("packing")
    notebook = environment.plugins[3] / "benchbook_packing" / "packing.ipynb"
    written = notebook.read_text()
    notebook.write_text(written.replace("study.run(", "(study.run)("))
    same = identities("packing")
    notebook.write_text(written.replace("globals()", "{**globals(), 'n': n + 0}"))
    other = identities("packing")
    notebook.write_text(written)
    assert of_study == same
    assert not of_study[None] & other[None]


def test_the_pages_commands_for_each_kind_work_as_written(
    environment: Environment, servers: dict[str, str]
):
    assert [*THEN] == ["codec", "database", "study"] and THEN["database"][0] == "doctor"
    # The next test is of `benchbook doctor`.
    small = ["--noisy", "--set", "repetitions=2", "--set", "blocks=1", "--set", "n=50"]
    pages = [(one / "README.md").read_text() for one in environment.plugins]
    lines = itertools.chain.from_iterable(page.splitlines() for page in pages)
    shown = [line.removeprefix("benchbook ") for line in lines]
    asked = dict.fromkeys(
        line for line in [*shown, *itertools.chain(*THEN.values())] if line.startswith("run ")
    )
    assert len(asked) == len(MADE), "the pages say the same"
    for words in asked:
        ran = environment.ran("-I", "-m", "benchbook.cli", *words.split(), *small, **servers)
        assert ran.returncode == 0, ran.stdout + ran.stderr
    sql = "SELECT study, codec, database, operation FROM observations"
    rows = environment.run_as_json("results", "--sql", sql, **servers)
    assert {row["codec"] for row in rows if row["study"] == "bookstore"} == {
        "orjson",
        "lxml",
        "ujson",
        "minidom",
    }
    assert {row["database"] for row in rows if row["study"] == "crud"} == {"tinystore", "my_store"}
    assert {row["operation"] for row in rows if row["study"] == "packing"} == {"compress"}
    judged = environment.run_as_json("claims", "--profile", "smoke")
    assert {claim["study"] for claim in judged} == set(SLUGS), (
        "the papers' claims, beside another study's arms"
    )


def test_a_database_is_found_at_its_address_and_of_two_servers_none_is_started(
    environment: Environment, servers: dict[str, str]
):
    (row,) = [
        row
        for row in environment.run_as_json("doctor", **servers)
        if row["database"] == "tinystore"
    ]
    assert (row["available"], row["version"], row["from"]) == (True, "0.1", "address")
    two = environment.run_as_json(
        "plan",
        "crud",
        "--set",
        "database=tinystore",
        "--set",
        "topology=replicated",
        "--set",
        "constraints=on",
    )
    assert {cell["state"] for cell in two} == {"skipped"}


def test_a_plug_ins_adapter_is_checked_on_its_server_and_a_wrong_one_is_not(
    environment: Environment, servers: dict[str, str]
):
    check = ["-I", "-m", "benchbook.cli", "servers", "check", "tinystore"]
    ran = environment.ran(*check, servers["BENCHBOOK_TINYSTORE_URL"])
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "  tinystore 0.1, single: checked" in ran.stdout
    assert "cannot be done: find uses an index that was asked for: " in ran.stdout

    adapter = environment.plugins[2] / "benchbook_tinystore" / "adapter.py"
    written = adapter.read_text()
    adapter.write_text(written.replace('return int(self._call("delete_all"))', "return 0"))
    ran = environment.ran(*check, servers["BENCHBOOK_TINYSTORE_URL"])
    adapter.write_text(written)
    assert ran.returncode == FAILED, ran.stdout + ran.stderr
    (recorded,) = json.loads((environment.results / CHECKS_FILE).read_text())
    assert any("every_verb_changes_its_records" in name for name in recorded["failed"])
    assert f"{recorded['failed'][0]}\n" in ran.stdout and "checked;" not in ran.stdout


def test_a_new_package_in_the_checkout_leaves_git_status_clean():
    ignored = ["git", "check-ignore", "--quiet", "benchbook-mine/README.md"]
    assert subprocess.run(ignored, cwd=ROOT, check=False).returncode == 0


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["codec", "orjson"], "'orjson' is the name of another codec"),
        (["database", "mongodb"], "'mongodb' is the name of another database"),
        (["study", "crud"], "'crud' is the name of another study"),
        (["codec", "../up"], "a name has small letters"),
        (["codec", "fine", "--folder", "."], "exists"),
    ],
)
def test_a_refused_package_writes_nothing(
    words: list[str], why: str, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["new", *words]) == USAGE
    assert why in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_name_that_is_taken_or_cannot_be_loaded_is_refused_by_its_package(
    monkeypatch: pytest.MonkeyPatch,
):
    there = plugins.PluginEntry("benchbook_nowhere.codec", "codec", "benchbook-nowhere")
    monkeypatch.setattr(plugins, "find_entries", lambda group: {"orjson": there})
    with pytest.raises(InputError, match=r"benchbook-nowhere.*benchbook's own"):
        plugins.list_plugins("codecs.json", ("orjson",))
    with pytest.raises(InputError, match=r"benchbook-nowhere.*cannot be loaded"):
        there.load()
    # An installed package with a module that imports a missing library.
    missing = ModuleNotFoundError("No module named 'ujson'", name="ujson")
    monkeypatch.setattr(plugins.importlib, "import_module", Mock(side_effect=missing))
    with pytest.raises(
        InputError,
        match=r"No module named 'ujson': .*uv pip install --python .venv/bin/python ujson$",
    ):
        there.load()
    monkeypatch.undo()
    with pytest.raises(InputError, match=r"benchbook_nowhere.*none here"):
        plugins.find_folder("benchbook_nowhere")
