"""The commands for a manuscript: `benchbook figure` and `benchbook number`."""

import json
import re
from pathlib import Path

from benchbook import cli
from benchbook.cli.command import DONE, NOTHING_RUNS, USAGE
from benchbook.papers import exhibits, numbers


def test_the_command_writes_figures_and_tables_of_the_committed_run(judged_once, tmp_path, capsys):
    names = ["replication_ratios", "replication_table1_setup"]
    asked = [
        "figure",
        *names,
        "--reference",
        "--width",
        "89mm",
        "--no-title",
        "--output",
        str(tmp_path),
    ]
    assert cli.main(asked) == DONE
    written = {Path(line).name for line in capsys.readouterr().out.splitlines()}
    assert written == {f"{names[0]}.{kind}" for kind in ("pdf", "json")} | {
        f"{names[1]}.{kind}" for kind in ("tex", "csv", "json")
    }
    assert all((tmp_path / name).stat().st_size for name in written)


def test_the_command_lists_all_figures_and_suggests_the_nearest_name(capsys, tmp_path, monkeypatch):
    assert cli.main(["figure"]) == DONE
    listed = capsys.readouterr().out.splitlines()
    assert {line.split()[0] for line in listed[1:]} == {*exhibits.FIGURES, *exhibits.TABLES}
    assert "drivers, Fig. 2: time of the client" in "\n".join(listed)
    titles = [line for line in listed if re.match(r"(\w+_)?verdicts", line)]
    assert len(titles) > 5 and not any(re.search(r"\d+ of \d+", title) for title in titles), (
        "no other run's counts"
    )
    for asked, advice in (
        (["figure", "overveiw"], "did you mean 'overview'?"),
        (
            ["figure", "crud_fig2"],
            "did you mean 'crud_fig2_insert_single'? benchbook figure lists them",
        ),
        (["figure", "overview", "--format", "pfd"], "did you mean 'pdf'?"),
        (["figure", "overview", "--width", "1in"], "3in to 12in"),
        (["figure", "crud_setup", "--reference", "--format", "png"], "takes tex, csv, json"),
    ):
        assert cli.main(asked) == USAGE
        assert advice in capsys.readouterr().err
    monkeypatch.setenv("BENCHBOOK_RESULTS", str(tmp_path / "none"))
    for asked in (["figure", "overview"], ["number", "claims.all"]):
        assert cli.main(asked) == NOTHING_RUNS
        assert "--reference" in capsys.readouterr().err
    assert cli.main(["number", "crud.table-ii.mongodb.1000"]) == DONE, (
        "what a paper prints needs no results"
    )
    assert capsys.readouterr().out == "54.9 ms\n"


def test_only_numbers_with_a_prefix_are_written(judged_once, keyed, tmp_path, capsys):
    file = tmp_path / "numbers.tex"
    prefixes = ["tcp_fig3_json.system-cpu-python", "crud.headline"]
    asked = ["number", "--latex-macros", str(file), "--reference", "--only"]
    assert cli.main([*asked, *prefixes]) == DONE
    written = re.findall(r"^\\benchbook@set{(.*?)}", file.read_text(), re.MULTILINE)
    assert written == [key for key in keyed if key.startswith(tuple(prefixes))]
    assert {key.partition(".")[0] for key in written} == {"tcp_fig3_json", "crud"}
    assert cli.main([*asked, "crudd"]) == USAGE
    assert "no key begins with crudd" in capsys.readouterr().err
    assert cli.main(["number", "claims.all", "--only", "crud"]) == USAGE


def test_the_command_prints_a_number_as_text_latex_and_with_its_provenance(
    judged_once, committed_exhibits, keyed, capsys, monkeypatch
):
    monkeypatch.setattr(exhibits, "make_exhibit", lambda _, name: committed_exhibits[name])
    mark, unjudged = (
        "tcp_fig3_json.system-cpu-python.3.json",
        "crud.insert.couchbase-like-postgresql",
    )
    assert cli.main(["number", mark, "--reference"]) == DONE
    assert capsys.readouterr() == (f"{keyed[mark].text}\n", f"{mark}: {keyed[mark].says}\n"), (
        "the number alone, and what"
    )
    assert cli.main(["number", mark, "--reference", "--latex"]) == DONE
    assert capsys.readouterr().out == f"{keyed[mark].text[:-1]}\\%\n"
    assert cli.main(["number", mark, "--reference", "--json"]) == DONE
    (said,) = json.loads(capsys.readouterr().out)
    assert (said["value"], said["low"], said["unit"]) == (keyed[mark].value, keyed[mark].low, "%")
    assert (
        said["provenance"]["hosts"]
        and said["provenance"]["machine_days"]
        and said["provenance"]["drawn_by"]
    )
    for key, advice in (
        (unjudged, "not run"),
        ("crud.table-ii.mongdb.1000", "crud.table-ii.mongodb.1000"),
    ):
        assert cli.main(["number", key, "--reference"]) == USAGE
        assert advice in capsys.readouterr().err


def test_numbers_are_found_by_words_of_their_key_or_description(
    judged_once, keyed, capsys, monkeypatch
):
    monkeypatch.setattr(numbers, "list_numbers", lambda analysis, prefixes: keyed)
    assert cli.main(["number", "--find", "mongodb", "INSERT", "--reference"]) == DONE
    _, *found = capsys.readouterr().out.splitlines()
    assert 0 < len(found) < len(keyed) / 4
    assert all("mongodb" in line.lower() and "insert" in line.lower() for line in found)
    for words, advice in (
        (["mongodb", "insrt"], "no key has all of these words: mongodb insrt"),
        ([], "expected at"),
    ):
        assert cli.main(["number", "--find", *words, "--reference"]) == USAGE
        assert advice in capsys.readouterr().err
    assert cli.main(["number", "claims.all", "--find", "x", "--reference"]) == USAGE
