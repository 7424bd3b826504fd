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
    versions = {f"package {package.name}": package.version for package in metadata.distributions()}
    versions.pop("package benchbook", None)
    versions["Python"] = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    return versions | {f"file {name}": hashlib.sha256(content).hexdigest() for name, content in _contents(paths.root())}


def differences(here: Mapping[str, str], there: Mapping[str, str]) -> str:
    """Return in words what differs there from here; nothing when all is alike."""
    unlike = [name for name in sorted(here.keys() | there.keys()) if here.get(name) != there.get(name)]
    words = []
    for kind in ("Python", "package", "file"):
        if names := [name for name in unlike if name.startswith(kind)]:
            first = names[0].removeprefix(f"{kind} ")
            versions = f" {there.get(names[0], 'missing')}, here {here.get(names[0], 'missing')}"
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            words.append(f"{first}{' is another file' if kind == 'file' else versions}{more}")
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
    # What was run in one, and what came out, is no matter.
    for name, path in notebooks.items():
        yield name, json.dumps([cell["source"] for cell in json.loads(path.read_text())["cells"]]).encode()
