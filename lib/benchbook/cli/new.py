"""`benchbook new`: a codec, a database or a study as a package of one's own, which runs from its first minute on."""

import argparse
import re
import sys
from pathlib import Path
from string import Template
from typing import Final

from benchbook import cli

_SKELETONS: Final = Path(__file__).parent / "skeletons"
_NAME: Final = re.compile(r"[a-z][a-z0-9_]*")
_FILES: Final = {
    "codec": {"codec.py.txt": "{package}/codec.py"},
    "database": {
        "init.py.txt": "{package}/__init__.py",
        **{f"{part}.py.txt": f"{{package}}/{part}.py" for part in ("adapter", "server", "client", "example_server")},
    },
    "study": {
        "study.py.txt": "{package}/study.py",
        "grid.yaml": "{package}/{name}.yaml",
        "notebook.json": "{package}/{name}.ipynb",
    },
}
"""Where each of a skeleton's files goes; its test and what all have alike are beside them."""

_TARGETS: Final = {"codec": "codec:codec", "database": "adapter:Adapter", "study": "study"}
_TRY: Final = {
    "codec": (
        "benchbook run bookstore --set keys=paper --set case=1 --set n=1000 --set {format}_codec={main},{name}\n"
        "benchbook results"
    ),
    "database": (
        "python -m {package}.example_server 4040 &   # or a server of yours\n"
        "export BENCHBOOK_{NAME}_URL={dashed}://127.0.0.1:4040\n"
        "benchbook doctor\n"
        "benchbook run crud --set database={name} --set topology=single --set constraints=on"
    ),
    "study": "benchbook plan {name}\nbenchbook run {name}\nbenchbook results",
}
"""What a package's page says to try first."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("kind", choices=["codec", "database", "study"], help="what the package adds")
    parser.add_argument("name", metavar="NAME", help="its name in grids and commands: small letters, digits and _")
    parser.add_argument(
        "--format", choices=["json", "xml"], default="json", help="the format of a codec (default: json)"
    )
    parser.add_argument("--folder", metavar="DIR", help="the folder of the package (default: benchbook-NAME)")


def main(asked: argparse.Namespace) -> int:
    """Write the package into a new folder; what is there already is left alone."""
    from benchbook import formats, registry, studies  # after the parser: every command would wait for them

    name, kind = asked.name, asked.kind
    if not _NAME.fullmatch(name):
        raise cli.UsageError(f"a name has small letters, digits and _, and begins with a letter: it cannot be {name!r}")
    codecs = (*formats.NAMES, "jackson", "moxy", "jaxb", "xmldecoder", "dom", "jaxb_context")
    taken = {"codec": codecs, "database": (*registry.PRODUCTS, "noop"), "study": studies.NAMES}
    if name in taken[kind]:
        raise cli.UsageError(f"{name!r} is the name of another {kind}")
    folder = Path(asked.folder or f"benchbook-{name.replace('_', '-')}")
    if folder.exists():
        raise cli.UsageError(f"{folder} exists: name another folder with --folder")
    for path, text in written(kind, name, asked.format).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    print(f"Made {folder}: begin with {folder / 'README.md'}")
    return cli.DONE


def written(kind: str, name: str, form: str = "json") -> dict[str, str]:
    """Return the files of a new package, by their paths in its folder."""
    package, main_codec = f"benchbook_{name}", "orjson" if form == "json" else "lxml"
    words = {"name": name, "NAME": name.upper(), "package": package, "format": form, "main": main_codec}
    words |= {"dashed": name.replace("_", "-")}  # an address begins with no underscore
    own = Path(sys.executable).parent
    words |= {
        "kind": kind,
        "Title": name.replace("_", " ").title(),
        "group": f"codecs.{form}" if kind == "codec" else {"database": "databases", "study": "studies"}[kind],
        "target": f"{package}.{_TARGETS[kind]}",
        "python": str(own / "python"),
        "uv": str(own / "uv") if (own / "uv").exists() else "uv",
        "try": _TRY[kind].format(**words),
    }
    skeleton = _SKELETONS / (f"codec_{form}" if kind == "codec" else kind)
    package_file = {f"{package}/__init__.py": f'"""benchbook\'s {kind} {name}."""\n'}
    files = {skeleton / source: target.format(**words) for source, target in _FILES[kind].items()}
    files |= {skeleton / "test.py.txt": f"tests/test_{name}.py"}
    files |= {_SKELETONS / "all" / f"{file}.txt": file for file in ("pyproject.toml", "README.md")}
    texts = {target: Template(source.read_text(encoding="utf-8")) for source, target in files.items()}
    return package_file | {target: text.substitute(words) for target, text in texts.items()}
