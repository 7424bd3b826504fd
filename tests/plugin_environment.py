"""An environment of tests in which packages are installed that announce themselves to the suite."""

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from checkout import ROOT

BIN = Path(sys.executable).parent


class Environment:
    """A new environment with the packages of this one and the plug-ins."""

    def __init__(self, folder: Path, plugins: list[Path]) -> None:
        self.python, self.results = folder / "env" / "bin" / "python", folder / "results"
        self.plugins = plugins
        subprocess.run(
            [sys.executable, "-m", "venv", "--without-pip", str(folder / "env")], check=True
        )
        (site,) = (folder / "env").glob("lib/python3*/site-packages")
        (site / "benchbook-tests.pth").write_text(
            f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n"
        )

    def install(self) -> None:
        install = [
            BIN / "uv",
            "pip",
            "install",
            "--quiet",
            "--offline",
            "--python",
            self.python,
            "--no-deps",
        ]
        editable = []
        for plugin in self.plugins:
            editable += ["--editable", plugin]
        subprocess.run(
            [*install, "--no-build-isolation", *editable], check=True, capture_output=True
        )

    def ran(self, *words: str | Path, **env: str) -> subprocess.CompletedProcess[str]:
        env = (
            os.environ
            | {"BENCHBOOK_RESULTS": str(self.results), "PYTHONDONTWRITEBYTECODE": "1"}
            | env
        )
        return subprocess.run(
            [self.python, *words], capture_output=True, text=True, env=env, cwd=ROOT, check=False
        )

    def run_as_json(self, *words: str, **env: str) -> Any:
        ran = self.ran("-I", "-m", "benchbook.cli", *words, "--json", **env)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return json.loads(ran.stdout)

    def identities(self) -> set[tuple[str, str]]:
        return {
            (cell["study"], cell["identity"])
            for cell in self.run_as_json("plan", "--profile", "smoke")
        }
