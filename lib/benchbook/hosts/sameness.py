"""What two machines must have alike for their measurements to be of one experiment, and what differs."""

import hashlib
import json
import platform
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Final

from benchbook import paths, plugins

_FILES: Final = ("lib/benchbook/**/*.py", "harness/**/*.java", "harness/**/*.[jm]s", "harness/**/pom.xml")
_LISTS: Final = ("papermill_params/*.yaml", "data/claims/*.yaml", "harness/**/*lock*", "requirements.lock")
_NOT_OURS: Final = frozenset({"node_modules", "target", "__pycache__"})


def sameness() -> dict[str, str]:
    """Return by name what must be alike: digests of the suite's files, versions of Python and of each package."""
    found = {"Python": f"{platform.python_version()} on {platform.system()} {platform.machine()}"}
    found |= {f"package {one.name}": one.version for one in metadata.distributions() if one.name != "benchbook"}
    return found | {f"file {name}": hashlib.sha256(content).hexdigest() for name, content in _contents(paths.root())}


def differences(mine: Mapping[str, str], theirs: Mapping[str, str]) -> str:
    """Return in words what differs from us there; nothing when all is alike."""
    unlike = [name for name in sorted(mine.keys() | theirs.keys()) if mine.get(name) != theirs.get(name)]
    words = []
    for kind in ("Python", "package", "file"):
        if some := [name for name in unlike if name.startswith(kind)]:
            first = some[0].removeprefix(f"{kind} ")
            there, here = (one.get(some[0], "missing") for one in (theirs, mine))
            versions = "" if kind == "file" else f" {there}, here {here}"
            more = f" and {len(some) - 1} more" if len(some) > 1 else ""
            words.append(f"{first}{versions or ' is another file'}{more}")
    return "; ".join(words)


def _contents(root: Path) -> Iterator[tuple[str, bytes]]:
    for pattern in (*_FILES, *_LISTS):
        for path in sorted(root.glob(pattern)):
            if path.is_file() and not _NOT_OURS & {*path.relative_to(root).parts}:
                yield str(path.relative_to(root)), path.read_bytes()
    notebooks = {f"notebooks/{path.name}": path for path in sorted((root / "notebooks").glob("*.ipynb"))}
    for package in plugins.packages():
        folder = plugins.folder(package)
        notebooks |= {f"{package}/{path.name}": path for path in sorted(folder.glob("*.ipynb"))}
        for path in sorted((*folder.rglob("*.py"), *folder.glob("*.yaml"))):
            yield f"{package}/{path.relative_to(folder)}", path.read_bytes()
    for name, path in notebooks.items():  # what was run in one, and what came out, is no matter
        yield name, json.dumps([one["source"] for one in _cells(path)]).encode()


def _cells(path: Path) -> list[dict[str, object]]:
    cells: list[dict[str, object]] = json.loads(path.read_text())["cells"]
    return cells
