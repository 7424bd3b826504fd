"""Known vulnerabilities of the packages that the lock files pin: ``make audit``.

Exit status: 0 there are none; 1 there are some; 3 a source did not answer, the others know none.
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
from benchbook.studies.harness import find_jar
from tools import artefacts

_NODE: Final = ("harness/node", "tests/stand_ins/couchdb", "tests/stand_ins/rethinkdb")
"""The folders whose packages npm installs."""

_VULNERABLE: Final = 1
_UNASKED: Final = 3

_MESSAGE_LIMIT: Final = 300
"""The most characters of a program's output in a message."""


@dataclass(frozen=True)
class Answer:
    """Known vulnerabilities of a list of packages, one line each, or why they are unknown."""

    packages: str
    vulnerabilities: Sequence[str] = ()
    unasked: str = ""

    def __str__(self) -> str:
        """Return its lines."""
        lines = [f"could not be asked: {self.unasked}"] if self.unasked else []
        lines += self.vulnerabilities
        return "\n".join(f"{self.packages}: {line}" for line in lines or ["nothing is known"])


def audit_python(pip_audit: str, lock: Path) -> Answer:
    """Audit pip's packages; pip-audit skips those that the registry does not answer for."""
    options = ("--require-hashes", "--disable-pip", "--progress-spinner=off", "--format=json")
    printed = _run_json([pip_audit, *options, "--requirement", str(lock)])
    packages = printed.get("dependencies")
    if not isinstance(packages, list):
        return Answer(lock.name, unasked=printed["error"])
    skipped = [package["skip_reason"] for package in packages if "skip_reason" in package]
    vulnerabilities = []
    for package in packages:
        for known in package.get("vulns", ()):
            versions = " or ".join(known["fix_versions"]) or "none"
            name = f"{package['name']} {package['version']}"
            vulnerabilities.append(f"{name}: {known['id']}, mended in {versions}")
    why = f"{len(skipped)} of them, the first: {skipped[0]}" if skipped else ""
    return Answer(f"{lock.name}, {len(packages)} packages", vulnerabilities, why)


def audit_node(folder: Path) -> Answer:
    """Audit npm's packages."""
    name = f"{folder.parent.name}/{folder.name}"
    npm = shutil.which("npm")
    if npm is None:
        return Answer(name, unasked="no npm on PATH")
    printed = _run_json([npm, "audit", "--json", "--prefix", str(folder)])
    known = printed.get("vulnerabilities")
    if not isinstance(known, dict):
        return Answer(name, unasked=str(printed.get("message") or printed.get("error")))
    vulnerabilities = []
    for package, each in known.items():
        fix = each["fixAvailable"]
        mended = "a fix" if fix else "no fix"
        if isinstance(fix, dict):
            mended = f"mended in {fix['name']} {fix['version']}"
        vulnerabilities.append(f"{package} {each['range']}: {each['severity']}, {mended}")
    return Answer(
        f"{name}, {printed['metadata']['dependencies']['total']} packages", vulnerabilities
    )


def describe_java() -> str:
    """List the artefacts of the Java language's jar: Maven has no service that knows about them."""
    if not find_jar().is_file():
        return "harness/java: not built, so it ships nothing"
    lock = artefacts.read_lock(artefacts.find_lock_file())
    try:
        artefacts.gather(lock, paths.artefacts())
    except artefacts.ArtefactError as error:
        return f"harness/java: what its jar is made of is not here: {error}"
    shipped = _list_shipped(lock)
    head = (
        f"harness/java: its {len(shipped)} artefacts were not audited: Maven has no service for it"
    )
    return "\n  ".join([f"{head}:", *shipped])


def _list_shipped(lock: Mapping[str, str]) -> list[str]:
    """Return the locked jars whose classes are in the language's jar; the others only build it."""
    inside = _list_classes(find_jar())
    jars = [coordinates for coordinates in lock if ":jar:" in coordinates]
    classes_of = {each: _list_classes(paths.artefacts() / artefacts.locate(each)) for each in jars}
    return [each for each, classes in classes_of.items() if classes and classes <= inside]


def _list_classes(file: Path) -> set[str]:
    with zipfile.ZipFile(file) as content:
        return {
            name
            for name in content.namelist()
            if name.endswith(".class") and not name.endswith("-info.class")
        }


def _run_json(command: list[str]) -> dict[str, Any]:
    """Return the object that a program prints, or its message as `error`."""
    ran = subprocess.run(command, capture_output=True, text=True, errors="replace")
    with suppress(ValueError):
        printed = json.loads(ran.stdout)
        if isinstance(printed, dict):
            return printed
    message = (ran.stderr or ran.stdout).strip() or f"{command[0]} said nothing"
    return {"error": message.splitlines()[-1][:_MESSAGE_LIMIT]}


def main(pip_audit: str) -> int:
    """Audit all packages and print the results."""
    checkout = paths.root()
    answers = [
        *(
            audit_python(pip_audit, checkout / "locks" / name)
            for name in ("requirements-dev.lock", "audit.lock", "grading.lock")
        ),
        *(audit_node(checkout / folder) for folder in _NODE),
    ]
    print(*answers, describe_java(), sep="\n")
    if any(answer.vulnerabilities for answer in answers):
        return _VULNERABLE
    return _UNASKED if any(answer.unasked for answer in answers) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
