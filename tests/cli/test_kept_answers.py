"""A kept answer is the one that the command would give now, and no command waits for it twice."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchbook import paths, version
from benchbook.cli import kept_answers
from benchbook.cli.kept_answers import KeptAnswer, is_kept
from benchbook.registry import plugins
from benchbook.registry.plugins import PluginEntry
from benchbook.results.folder import open_results
from benchbook.servers import launcher
from benchbook.servers.programs import MissingServer
from benchbook.studies import harness
from checkout import ROOT

ARGUMENTS = ["claims", "crud"]


@dataclass
class Asker:
    """Asks the same again; each answer that is computed has the next number."""

    folder: Path
    capsys: pytest.CaptureFixture[str]
    computed: int = 0

    def ask(self, *more: str, written: tuple[Path, ...] = ()) -> str:
        """Return the text on stdout and stderr."""
        kept = KeptAnswer([*ARGUMENTS, *more])
        if not kept.repeat():
            self.computed += 1
            with kept.record():
                print("here µ 0.58")
                print(f"answer {self.computed}", file=sys.stderr)
            kept.keep(written)
        return "".join(self.capsys.readouterr())


@pytest.fixture
def asker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Asker:
    """Return one in a working folder of few files, with code of its own and without servers."""
    for name in ("data/claims", "data/published", "data/findings", "papermill_params", "notebooks"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("data/results/crud", "figures/reference", "code/cli", "harness/java"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.setenv("BENCHBOOK_HOME", str(tmp_path))
    monkeypatch.delenv("BENCHBOOK_RESULTS", raising=False)
    monkeypatch.setattr(paths, "__file__", str(tmp_path / "code" / "paths.py"))
    monkeypatch.setattr(paths, "harness", lambda language: tmp_path / "harness" / language)
    monkeypatch.setattr(launcher, "find_server", lambda product, topology: "none")
    monkeypatch.setattr(harness, "find_harness", lambda language: "none")
    return Asker(tmp_path, capsys)


def test_an_answer_is_printed_again_and_not_computed(asker: Asker) -> None:
    first = asker.ask()
    assert first == "here µ 0.58\nanswer 1\n"
    assert asker.ask() == first


@pytest.mark.parametrize(
    "name",
    [
        "data/claims/crud.yaml",
        "data/published/crud.csv",
        "data/findings/crud.csv",
        "data/papers.yaml",
        "data/results/crud/0a.0.parquet",
        "data/results/crud/0a.0.failed.parquet",
        "figures/reference/block_means.parquet",
        "papermill_params/crud.yaml",
        "notebooks/04_crud.ipynb",
        "code/cli/claims.py",
        "harness/java/pom.xml",
    ],
)
def test_a_file_that_appears_changes_or_goes_has_another_answer(asker: Asker, name: str) -> None:
    asker.ask()
    file = asker.folder / name
    file.write_text("one")
    assert asker.ask().endswith("answer 2\n")
    # As many bytes and the same time: what a careless copy of another file has.
    times = file.stat().st_atime_ns, file.stat().st_mtime_ns
    file.write_text("two")
    os.utime(file, ns=times)
    assert asker.ask().endswith("answer 3\n")
    file.unlink()
    assert asker.ask().endswith("answer 4\n")
    assert asker.ask().endswith("answer 4\n")


def install_package(asker: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    (asker.folder / "numpy-99.0.dist-info").mkdir()
    monkeypatch.syspath_prepend(asker.folder)


def upgrade_server(asker: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    newer = MissingServer("mongodb", "8.0")
    monkeypatch.setattr(launcher, "find_server", lambda product, topology: newer)


def upgrade_language(asker: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harness, "find_harness", lambda language: f"{language} 99")


def commit_code(asker: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(version, "describe_version", lambda: "benchbook 99")


def set_variable(asker: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", "/other")


def name_other_results(asker: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHBOOK_RESULTS", str(asker.folder))


def go_elsewhere(asker: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(asker.folder)


@pytest.mark.parametrize(
    "change",
    [
        install_package,
        upgrade_server,
        upgrade_language,
        commit_code,
        set_variable,
        name_other_results,
        go_elsewhere,
    ],
)
def test_a_change_of_the_machine_has_another_answer(
    asker: Asker,
    change: Callable[[Asker, pytest.MonkeyPatch], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asker.ask()
    change(asker, monkeypatch)
    assert asker.ask().endswith("answer 2\n")


def test_each_command_line_has_an_answer_of_its_own(asker: Asker) -> None:
    assert [asker.ask(*more)[-2] for more in ((), ("--json",), (), ("--json",))] == [*"1212"]


def test_the_servers_of_this_machine_say_nothing_of_the_reference_run(
    asker: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    asker.ask("--reference")
    upgrade_server(asker, monkeypatch)
    assert asker.ask("--reference").endswith("answer 1\n")


@pytest.mark.parametrize("option", ["--claims {}", "--claims={}"])
def test_a_file_that_an_argument_names_is_read_again(asker: Asker, option: str) -> None:
    file = asker.folder / "mine.yaml"
    file.write_text("one")
    arguments = option.format(file).split()
    asker.ask(*arguments)
    assert asker.ask(*arguments).endswith("answer 1\n")
    file.write_text("two")
    assert asker.ask(*arguments).endswith("answer 2\n")


@pytest.mark.parametrize("name", [".", "../other", "crud/.."])
def test_results_that_an_argument_names_are_read_again(
    asker: Asker, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (asker.folder / "other" / "crud").mkdir(parents=True)
    monkeypatch.chdir(asker.folder / "other")
    asker.ask(name)
    assert asker.ask(name).endswith("answer 1\n")
    Path("crud/0a.0.parquet").touch()
    assert asker.ask(name).endswith("answer 2\n")


def test_a_written_file_that_was_changed_is_written_again(asker: Asker) -> None:
    file = asker.folder / "numbers.tex"
    option = f"--latex-macros={file}"
    file.write_text("one")
    asker.ask(option, written=(file,))
    assert asker.ask(option, written=(file,)).endswith("answer 1\n")
    file.unlink()
    assert asker.ask(option, written=(file,)).endswith("answer 2\n")


def test_an_answer_from_records_of_a_user_follows_their_file(
    asker: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = asker.folder / "orders.csv"
    records.write_text("a\n1\n")
    cell = {"study": "crud", "cell_id": "0a", "block": 0, "state": "skipped", "reason": "no"}
    named = f'{{"dataset_file": "{records}#delimiter=semicolon"}}'
    open_results().write_cell(cell, None, named)
    asker.ask()
    assert asker.ask().endswith("answer 1\n")
    records.write_text("a\n2\n")
    assert asker.ask().endswith("answer 2\n")


@pytest.mark.parametrize("damage", [slice(0), slice(40), slice(-1), slice(1, None)])
def test_a_damaged_answer_is_computed_and_written_anew(asker: Asker, damage: slice) -> None:
    asker.ask()
    (file,) = paths.kept_answers().iterdir()
    file.write_text(file.read_text()[damage])
    assert asker.ask().endswith("answer 2\n")
    # Nor is a number printed that changed on the disk.
    file.write_text(file.read_text().replace("0.58", "0.85"))
    assert asker.ask() == "here µ 0.58\nanswer 3\n"
    assert asker.ask() == "here µ 0.58\nanswer 3\n"


def test_a_folder_that_cannot_be_written_costs_only_time(asker: Asker) -> None:
    (asker.folder / ".cache").touch()
    assert [asker.ask()[-2] for _ in range(2)] == ["1", "2"]


def test_nothing_is_kept_while_a_plug_in_is_installed(
    asker: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = {"mine": PluginEntry("mine", "", "mine")}
    monkeypatch.setattr(plugins, "find_entries", lambda group: entry)
    assert [asker.ask()[-2] for _ in range(2)] == ["1", "2"]


def test_the_oldest_answers_are_removed(asker: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_answers, "MAX_ANSWERS", 2)
    for more in ("--one", "--two", "--three"):
        asker.ask(more)
    assert asker.ask("--three").endswith("answer 3\n")
    assert asker.ask("--one").endswith("answer 4\n")


def test_a_query_is_answered_anew_each_time_and_so_is_help() -> None:
    assert is_kept(["results"]) and not is_kept(["results", "--sql", "SELECT random()"])
    assert is_kept(["claims"]) and not is_kept(["claims", "--help"])


def test_a_key_beside_one_that_was_asked_for_is_kept_too(tmp_path: Path) -> None:
    for name in ("papermill_params", "notebooks", "figures", "data"):
        (tmp_path / name).symlink_to(ROOT / name)
    answers = tmp_path / ".cache/answers"

    def ask(*keys: str) -> tuple[str, str]:
        command = [sys.executable, "-I", "-m", "benchbook.cli", "number", "--reference", *keys]
        environment = {**os.environ, "BENCHBOOK_HOME": str(tmp_path)}
        ended = subprocess.run(command, env=environment, capture_output=True, text=True)
        return ended.stdout, ended.stderr

    computed = ask("bookstore.claims.all", "bookstore.unmarshal.xml-slower")
    kept = sorted(answers.iterdir())
    repeated = [ask("bookstore.claims.all"), ask("bookstore.unmarshal.xml-slower")]
    assert computed == ("".join(out for out, _ in repeated), "".join(err for _, err in repeated))
    assert sorted(answers.iterdir()) == kept
    # An unknown key has the nearest one, and another study's is computed.
    assert "did you mean" in ask("bookstore.unmarshal.xml-slow")[1]
    ask("tcp.claims.all")
    assert len([*answers.iterdir()]) > len(kept)


def test_the_command_repeats_its_answer_until_the_published_number_changes(tmp_path: Path) -> None:
    for name in ("papermill_params", "notebooks", "figures"):
        (tmp_path / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "data", tmp_path / "data", ignore=shutil.ignore_patterns("results"))
    environment = {**os.environ, "BENCHBOOK_HOME": str(tmp_path)}
    key = "crud.table-ii.mongodb.1000"
    command = [sys.executable, "-I", "-m", "benchbook.cli", "number", key]

    def ask() -> tuple[str, set[tuple[str, int]]]:
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert key in ended.stderr
        kept = {(file.name, file.stat().st_ino) for file in (tmp_path / ".cache/answers").iterdir()}
        return ended.stdout, kept

    first, kept = ask()
    assert first == "54.9 ms\n"
    assert ask() == (first, kept)
    numbers = tmp_path / "data/published/crud.csv"
    numbers.write_text(numbers.read_text().replace("54.9", "64.9"))
    assert ask()[0] == "64.9 ms\n"
