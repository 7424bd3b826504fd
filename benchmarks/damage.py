"""Print what becomes of results with one flipped bit: ``python benchmarks/damage.py [FLIPS] [--results FOLDER]``.

Ten finished cells of the studies are run at the smoke profile, unless a results' folder is given. Bits of each file are
flipped one at a time, spread evenly over all of it, page headers and footer included, and the file is read back as
`benchbook results` and `plan` do, in a folder of its own under its own name.

``detected``: left out, its cell is to be measured again; ``harmless``: read, and every value is what was written;
``raised``: a command would end in a traceback; ``silent``: read, with something else than was written.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Final

import pandas as pd

from benchbook import results

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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("flips", nargs="?", type=int, default=FLIPS, help="in all files together")
    parser.add_argument("--results", type=Path, help="a folder of results (default: cells are run)")
    asked = parser.parse_args()
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as given, tempfile.TemporaryDirectory() as laid:
        if asked.results is None:
            measured(Path(given))
        os.environ["BENCHBOOK_RESULTS"] = laid
        files = chosen(asked.results or Path(given))
        for file in files:
            content, place = file.read_bytes(), Path(laid, file.parent.name, file.name)
            place.parent.mkdir(exist_ok=True)
            assert became(place, content, pd.DataFrame()) == "silent", f"{file} is not whole to begin with"
            whole, each = results.observations(), asked.flips // len(files)
            for number in range(each):
                bit = (2 * number + 1) * 8 * len(content) // (2 * each)
                counts[became(place, flipped(content, bit), whole)] += 1
            place.unlink()
    print(f"{counts.total()} flips in {len(files)} files: " + ", ".join(f"{n} {what}" for what, n in counts.items()))
    return int(bool(counts["silent"] or counts["raised"]))


if __name__ == "__main__":
    sys.exit(main())
