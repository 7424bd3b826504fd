"""Print what becomes of results with one flipped bit: ``python benchmarks/damage.py [FLIPS] [--results FOLDER]``.

Ten finished cells of the studies are run at the smoke profile, unless a results' folder is given. Bits of each file are
flipped one at a time, spread evenly over all of it, page headers and footer included, and the file is read back as
`benchbook results` and `plan` do, in a folder of its own under its own name. As many are flipped in an export of the
ten, which is then taken in, and in the two files of the reference run.

``detected``: left out, its cell is to be measured again; ``harmless``: read, and every value is what was written;
``raised``: a command would end in a traceback; ``silent``: read, with something else than was written.
"""

import argparse
import io
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Final

import pandas as pd

from benchbook import cli, paths, results
from benchbook.evidence import reference
from benchbook.inputs import InputError

Became = Callable[[Path, bytes, pd.DataFrame], str]

FILES: Final = 10
FLIPS: Final = 480


def measured(folder: Path) -> None:
    """Run cells that need no server, and some that do."""
    command = [sys.executable, "-m", "benchbook.cli", "run", "bookstore", "tcp", "crud", "--profile", "smoke"]
    subprocess.run(command, env=os.environ | {"BENCHBOOK_RESULTS": str(folder)}, stdout=sys.stderr, check=True)


def chosen(folder: Path) -> list[Path]:
    """Return ten finished cells' files, of all studies."""
    files = sorted(file for file in folder.glob("*/[!.]*.parquet") if file.name.count(".") == 2)
    return random.Random(0).sample(files, min(FILES, len(files)))


def flipped(content: bytes, bit: int) -> bytes:
    """Return the bytes with one bit turned."""
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def became(file: Path, content: bytes, whole: pd.DataFrame) -> str:
    """Lay bytes under a file's name, read them, and say what came of it."""
    file.write_bytes(content)
    try:
        done = results.states(file.parent.name).get(file.stem) == "done"
        found = results.observations()
    except Exception:  # whatever it is, a user would see it
        return "raised"
    if not done and found.empty:
        return "detected"
    return "harmless" if done and found.equals(whole) else "silent"


def was_taken_in(file: Path, content: bytes, whole: pd.DataFrame) -> str:
    """Lay bytes under an export's name, take it into an empty folder, and say what came of it."""
    file.write_bytes(content)
    with tempfile.TemporaryDirectory() as empty:
        os.environ["BENCHBOOK_RESULTS"] = empty
        try:
            ended = cli.main(["results", "import", str(file)])
        except Exception:
            return "raised"
        if ended != cli.DONE:
            return "detected"
        return "harmless" if results.observations().equals(whole) else "silent"


def was_read(file: Path, content: bytes, whole: pd.DataFrame) -> str:
    """Lay bytes under a reference file's name, read it, and say what came of it."""
    file.write_bytes(content)
    try:
        found = pd.read_parquet(reference.intact(file.name, file.parent))
    except InputError:
        return "detected"
    except Exception:
        return "raised"
    return "harmless" if found.equals(whole) else "silent"


def flip(file: Path, content: bytes, whole: pd.DataFrame, flips: int, became: Became) -> Counter[str]:
    """Flip bits of a file, one at a time, and count what came of it."""
    bits = [(2 * number + 1) * 8 * len(content) // (2 * flips) for number in range(flips)]
    return Counter(became(file, flipped(content, bit), whole) for bit in bits)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("flips", nargs="?", type=int, default=FLIPS, help="in all files together")
    parser.add_argument("--results", type=Path, help="a folder of results (default: cells are run)")
    asked = parser.parse_args()
    told: dict[str, Counter[str]] = {"results": Counter(), "an export": Counter(), "the reference": Counter()}
    with tempfile.TemporaryDirectory() as given, tempfile.TemporaryDirectory() as laid:
        if asked.results is None:
            measured(Path(given))
        os.environ["BENCHBOOK_RESULTS"] = laid
        files = chosen(asked.results or Path(given))
        contents = {Path(laid, file.parent.name, file.name): file.read_bytes() for file in files}
        for place, content in contents.items():
            place.parent.mkdir(exist_ok=True)
            assert became(place, content, pd.DataFrame()) == "silent", f"{place} is not whole to begin with"
            told["results"] += flip(place, content, results.observations(), asked.flips // len(files), became)
            place.unlink()
        for place, content in contents.items():
            place.write_bytes(content)
        export = Path(laid) / "export.parquet"
        with redirect_stdout(None), redirect_stderr(io.StringIO()):
            assert cli.main(["results", "export", str(export)]) == cli.DONE
            whole = results.observations()
            told["an export"] = flip(export, export.read_bytes(), whole, asked.flips, was_taken_in)
        for name in (reference.MEANS, reference.REPETITIONS):
            kept = paths.reference() / name
            read = pd.read_parquet(kept)
            told["the reference"] += flip(Path(laid) / name, kept.read_bytes(), read, asked.flips // 2, was_read)
    for where, counts in told.items():
        print(f"{counts.total()} flips in {where}: " + ", ".join(f"{n} {what}" for what, n in counts.items()))
    return int(any(counts["silent"] or counts["raised"] for counts in told.values()))


if __name__ == "__main__":
    sys.exit(main())
