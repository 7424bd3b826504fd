"""What was asked of your files, kept beside the results: answers survive a reload, a restart and another question."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from benchbook import atomic, paths
from benchbook.datasets import record_files
from benchbook.explorer.documents import QUESTIONS, Request, requests
from benchbook.inputs import InputError

_FOLDER: Final = "asked"


@dataclass(frozen=True)
class Asked:
    """The questions that were asked of a file, with how much of it was measured."""

    file: str  # its path, and what is stated behind it
    questions: tuple[str, ...]  # names in `QUESTIONS`, the newest first
    records: int
    blocks: int
    noisy: bool = True

    @property
    def name(self) -> str:
        """The file's name."""
        return record_files.located(self.file)[0].name

    def requests(self) -> list[Request]:
        """Return what was measured. Raises `InputError` when the file cannot be taken any more."""
        return requests(self.file, self.questions, self.records, self.blocks, noisy=self.noisy)


def folder() -> Path:
    """Return the folder of files that were picked in a browser, and of what was asked."""
    return paths.results() / ".own"


def remember(asked: Asked) -> Asked:
    """Keep what is asked of a file, and return it with the earlier questions that were asked alike."""
    before = _read(_place(asked.name))
    if before and before.questions and asked == Asked(**{**asdict(before), "questions": asked.questions}):
        earlier = [name for name in before.questions if name not in asked.questions]
        asked = Asked(**{**asdict(asked), "questions": (*asked.questions, *earlier)})
    atomic.write(_place(asked.name), json.dumps(asdict(asked), indent=2))
    return asked


def latest() -> Asked | None:
    """Return what was asked last, of a file that is still there."""
    kept = sorted((folder() / _FOLDER).glob("*.json"), key=lambda place: place.stat().st_mtime, reverse=True)
    for place in kept:
        asked = _read(place)
        try:
            if asked and record_files.located(asked.file)[0].is_file():
                return asked
        except InputError:
            continue
    return None


def _place(name: str) -> Path:
    return folder() / _FOLDER / f"{name}.json"


def _read(place: Path) -> Asked | None:
    """Return what a file keeps; None where there is none, or it is of another version."""
    try:
        kept = json.loads(place.read_text(encoding="utf-8"))
        asked = Asked(**{**kept, "questions": tuple(kept["questions"])})
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return asked if {*asked.questions} <= {*QUESTIONS} else None
