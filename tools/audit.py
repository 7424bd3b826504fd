"""What is known against the packages that the lock files pin: ``make audit``.

Exit status: 0 nothing is known; 1 something is; 3 nothing is, and somebody could not be asked.
"""

import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchbook import paths
from benchbook.languages import jar
from tools import artefacts

_NODE: Final = ("harness/node", "tests/products/couchdb", "tests/products/rethinkdb")
"""The folders whose packages npm installs."""

_VULNERABLE: Final = 1
_UNASKED: Final = 3

_MESSAGE_LIMIT: Final = 300
"""Characters of what a program says, in a message."""


@dataclass(frozen=True)
class Answer:
    """What is known against one list of packages, a line each; why some could not be asked about, if any."""

    packages: str
    vulnerabilities: Sequence[str] = ()
    unasked: str = ""

    def __str__(self) -> str:
        """Return its lines."""
        lines = [f"could not be asked: {self.unasked}"] if self.unasked else []
        lines += self.vulnerabilities
        return "\n".join(f"{self.packages}: {line}" for line in lines or ["nothing is known"])


def python(pip_audit: str, lock: Path) -> Answer:
    """Ask about what pip installs; pip-audit skips what the registry does not answer for, so that was not asked."""
    options = ("--require-hashes", "--disable-pip", "--progress-spinner=off", "--format=json")
    printed = _printed_by([pip_audit, *options, "--requirement", str(lock)])
    if not isinstance(packages := printed.get("dependencies"), list):
        return Answer(lock.name, unasked=printed["error"])
    skipped = [package["skip_reason"] for package in packages if "skip_reason" in package]
    vulnerabilities = [
        f"{each['name']} {each['version']}: {known['id']}, mended in {' or '.join(known['fix_versions']) or 'none'}"
        for each in packages
        for known in each.get("vulns", ())
    ]
    why = f"{len(skipped)} of them, the first: {skipped[0]}" if skipped else ""
    return Answer(f"{lock.name}, {len(packages)} packages", vulnerabilities, why)


def node(folder: Path) -> Answer:
    """Ask about what npm installs."""
    name = f"{folder.parent.name}/{folder.name}"
    if (npm := shutil.which("npm")) is None:
        return Answer(name, unasked="no npm on PATH")
    printed = _printed_by([npm, "audit", "--json", "--prefix", str(folder)])
    if not isinstance(known := printed.get("vulnerabilities"), dict):
        return Answer(name, unasked=str(printed.get("message") or printed.get("error")))
    vulnerabilities = []
    for package, each in known.items():
        fix = each["fixAvailable"]
        mended = "a fix" if fix else "no fix"
        if isinstance(fix, dict):
            mended = f"mended in {fix['name']} {fix['version']}"
        vulnerabilities.append(f"{package} {each['range']}: {each['severity']}, {mended}")
    return Answer(f"{name}, {printed['metadata']['dependencies']['total']} packages", vulnerabilities)


def java() -> str:
    """Return what the Java language's jar is made of: Maven has nobody to ask about it."""
    if not jar().is_file():
        return "harness/java: not built, so it ships nothing"
    lock = artefacts.locked(artefacts.lock_file())
    try:
        artefacts.gather(lock, paths.artefacts())
    except artefacts.ArtefactError as error:
        return f"harness/java: what its jar is made of is not here: {error}"
    shipped = _shipped(lock)
    head = f"harness/java: nobody is asked about its {len(shipped)} artefacts (Maven knows no service that could be):"
    return "\n  ".join([head, *shipped])


def _shipped(lock: Mapping[str, str]) -> list[str]:
    """Return the coordinates of the locked jars whose classes are in the language's; the others only build it."""
    inside = _classes(jar())
    jars = [coordinates for coordinates in lock if ":jar:" in coordinates]
    classes_of = {each: _classes(paths.artefacts() / artefacts.path_of(each)) for each in jars}
    return [each for each, classes in classes_of.items() if classes and classes <= inside]


def _classes(file: Path) -> set[str]:
    with zipfile.ZipFile(file) as content:
        return {name for name in content.namelist() if name.endswith(".class") and not name.endswith("-info.class")}


def _printed_by(command: list[str]) -> dict[str, Any]:
    """Return the object that a program prints, whatever its exit status; else what it says, as an error."""
    ran = subprocess.run(command, capture_output=True, text=True, errors="replace")
    with suppress(ValueError):
        if isinstance(printed := json.loads(ran.stdout), dict):
            return printed
    message = (ran.stderr or ran.stdout).strip() or f"{command[0]} said nothing"
    return {"error": message.splitlines()[-1][:_MESSAGE_LIMIT]}


def main(pip_audit: str) -> int:
    """Ask all, and say what each answered."""
    checkout = paths.root()
    answers = [
        *(python(pip_audit, checkout / name) for name in ("requirements.lock", "audit.lock", "grading.lock")),
        *(node(checkout / folder) for folder in _NODE),
    ]
    print(*answers, java(), sep="\n")
    if any(answer.vulnerabilities for answer in answers):
        return _VULNERABLE
    return _UNASKED if any(answer.unasked for answer in answers) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
