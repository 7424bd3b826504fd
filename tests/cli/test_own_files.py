"""What the terminal shows of a user's file."""

import io
import sys

import orjson
import pytest

from benchbook import cli
from benchbook.cli import own_files
from benchbook.cli.command import DONE, USAGE
from benchbook.own_data.own_records import describe_file

IRIS = '"","Sepal.Length","Petal[]","Species"\n"1",5.1,1,"setosa"\n"2",4.9,2,\n'


@pytest.fixture
def iris(tmp_path, results_folder):
    path = tmp_path / "iris.csv"
    path.write_text(IRIS)
    return path


@pytest.mark.parametrize("command", ["plan", "run"])
def test_plan_and_run_list_a_files_fields_with_types_and_absent_shares(
    iris, command, monkeypatch, capsys
):
    monkeypatch.setattr("benchbook.runner.batch.Batch.run", lambda self: None)
    own = ["--set", f"dataset_file={iris}", "--set", "n=2", "--where", "language=python"]
    cli.main([command, "bookstore", "--profile", "smoke", *own])
    said = capsys.readouterr().out
    assert "2 records of 4 fields, " in said
    assert [line.split() for line in said.splitlines()].count(["Species", "text", "50", "%", "–"])
    assert [line.split() for line in said.splitlines()].count(["Sepal.Length", "float", "–", "–"])


def test_one_record_is_said_to_be_repeated_by_the_counts_that_are_measured(tmp_path, capsys):
    path = tmp_path / "one.json"
    path.write_text('{"a": 1}')
    for counts, said in [
        ([50], "It is one record, repeated 50 times."),
        ([1000, 5], "It is one record, repeated 1,000 or 5 times."),
        ([], "It is one record."),
    ]:
        own_files.print_file(str(path), describe_file(path), counts)
        assert capsys.readouterr().out.splitlines()[-1] == said


def test_many_fields_are_listed_up_to_a_number(tmp_path, capsys):
    path = tmp_path / "wide.jsonl"
    path.write_bytes(orjson.dumps({f"f{number}": number for number in range(200)}) * 2)
    own_files.print_file(str(path), describe_file(path), [])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == own_files.MAX_LISTED_FIELDS + 3
    assert lines[-1] == f"and {200 - own_files.MAX_LISTED_FIELDS} more"


def test_a_share_that_is_not_all_is_not_100_percent(tmp_path):
    path = tmp_path / "rare.jsonl"
    rows = [{"a": 1, **({"b": 1} if number < 2 else {"c": 1})} for number in range(500)]
    path.write_bytes(b"\n".join(map(orjson.dumps, rows)))
    shares = {row["field"]: row["absent"] for row in describe_file(path).list_fields(3)}
    assert shares == {"a": "–", "b": "> 99 %", "c": "< 1 %"}


@pytest.mark.parametrize("profile", ["smoke", "quick"])
def test_drivers_takes_a_file_with_every_profile(tmp_path, results_folder, profile, capsys):
    path = tmp_path / "people.csv"
    path.write_text("name,age\nann,5\nbob,6\n")
    own = ["--set", f"dataset_file={path}", "--set", "n=2", "--where", "language=python"]
    assert cli.main(["plan", "drivers", "--profile", profile, "--cells", *own]) == DONE
    said = capsys.readouterr().out
    assert "to do" in said and "attributes: 6" not in said
    assert (
        cli.main(["plan", "drivers", "--profile", profile, *own, "--set", "attributes=6"]) != DONE
    )
    assert "leave attributes out" in "".join(capsys.readouterr())


def test_a_text_inside_an_array_is_named_where_an_update_needs_one(tmp_path, capsys):
    path = tmp_path / "theaters.jsonl"
    path.write_text('{"open": true, "at": [{"address": {"zip": 5, "city": "Ulm"}}]}')
    cli.main(["plan", "crud", "--profile", "smoke", "--set", f"dataset_file={path}"])
    assert "at[].address.city is inside an array: take it out" in "".join(capsys.readouterr())


def test_a_files_name_may_have_commas_beside_another_file(
    tmp_path, results_folder, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "Smith, J").mkdir()
    names = ["sales, final.jsonl", "Smith, J/five.jsonl", "plain.jsonl"]
    for number, name in enumerate(names):
        (tmp_path / name).write_text(f'{{"field{number}": 1}}\n')
    own = ["--set", f"dataset_file={','.join(names)}", "--set", "n=2", "--where", "language=python"]
    assert cli.main(["plan", "bookstore", "--profile", "smoke", *own]) == DONE
    said = capsys.readouterr().out
    for number, name in enumerate(names):
        assert f"{tmp_path / name}: " in said and f"field{number} " in said
    # Names that are not files are still a list.
    own[1] = "dataset_file=plain.jsonl,missing.jsonl"
    assert cli.main(["plan", "bookstore", "--profile", "smoke", *own]) == USAGE
    assert "missing.jsonl: there is no such file" in capsys.readouterr().err


@pytest.mark.parametrize("content", ["[]", "[ ]\n"])
@pytest.mark.parametrize("command", ["plan", "run", "ask"])
def test_an_empty_array_is_refused_by_every_command(
    tmp_path, results_folder, content, command, capsys
):
    path = tmp_path / "empty.json"
    path.write_text(content)
    words = [command, str(path)]
    if command != "ask":
        words = [command, "bookstore", "--profile", "smoke", "--set", f"dataset_file={path}"]
    assert cli.main(words) == USAGE
    assert f"{path}: holds no record" in capsys.readouterr().err


@pytest.mark.parametrize("content", ["{}\n{}\n", "[{}]", '{"a": null}\n{"a": null}'])
@pytest.mark.usefixtures("shared_kernels")
def test_ask_answers_of_records_without_any_field(
    tmp_path, results_folder, content, monkeypatch, capsys
):
    monkeypatch.setenv("BENCHBOOK_FIGURES", str(tmp_path / "figures"))
    path = tmp_path / "empty.json"
    path.write_text(content)
    assert cli.main(["ask", str(path), "--blocks", "1"]) == DONE
    said = capsys.readouterr().out
    assert "of 0 fields" in said and "XML takes " in said
    page = (tmp_path / "figures" / "documents" / "empty.json.html").read_text()
    assert "of 0 fields" in page and "its fields" not in page


CONTROLS = "\x1b]0;mine\x07\x1b[31m\x9b1m\x7f"
ESCAPED = r"\x1b]0;mine\x07\x1b[31m\x9b1m\x7f"


@pytest.mark.parametrize("command", ["plan", "run", "ask"])
@pytest.mark.parametrize("is_whole", [True, False])
@pytest.mark.usefixtures("shared_kernels")
def test_no_control_character_of_a_name_reaches_a_terminal(
    tmp_path, results_folder, command, is_whole, monkeypatch, capsys
):
    monkeypatch.setenv("BENCHBOOK_FIGURES", str(tmp_path / "figures"))
    path = tmp_path / f"of{CONTROLS}you.json"
    record = {f"na{CONTROLS}me\r\nand": 1, f"empty{CONTROLS}": None, "text": "a"}
    content = orjson.dumps([record, record])
    path.write_bytes(content if is_whole else content[:-1])
    words = [command, str(path), "--blocks", "1"]
    if command != "ask":
        own = ["--set", f"dataset_file={path}", "--set", "n=2,3", "--where", "language=python"]
        words = [command, "bookstore", "--profile", "smoke", *own]
    status = cli.main(words)
    said = "".join(capsys.readouterr())
    assert not {*said} & {sign for sign in f"{CONTROLS}\r" if not sign.isprintable()}
    assert f"of{ESCAPED}you.json" in said
    assert status == (DONE if is_whole else USAGE)
    if is_whole:
        assert rf"na{ESCAPED}me\x0d\nand " in said and f"empty{ESCAPED}" in said


@pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
def test_a_terminal_without_a_character_gets_a_question_mark(
    results_folder, iris, encoding, monkeypatch
):
    streams = {name: io.TextIOWrapper(io.BytesIO(), encoding) for name in ("stdout", "stderr")}
    for name, stream in streams.items():
        monkeypatch.setattr(sys, name, stream)
    own = ["--set", f"dataset_file={iris}", "--set", "n=2", "--where", "language=python"]
    assert cli.main(["plan", "bookstore", "--profile", "smoke", *own]) == DONE
    assert cli.main(["plan", "bookstore", "--where", "language=–"]) == USAGE
    for stream in streams.values():
        stream.flush()
    said, errors = (stream.buffer.getvalue().decode(encoding) for stream in streams.values())
    assert [line.split() for line in said.splitlines()].count(["Sepal.Length", "float", "?", "?"])
    assert "language=?" in errors
