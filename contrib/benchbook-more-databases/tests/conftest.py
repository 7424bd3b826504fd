"""Lets the library find the plug-in's databases where the package is not installed."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from benchbook.registry import products
from benchbook.servers import launcher

PYPROJECT: Final = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())


@pytest.fixture(autouse=True)
def announced() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name, where in PYPROJECT["project"]["entry-points"]["benchbook.databases"].items():
            patch.setitem(products.ADAPTERS, name, where)
        _forget_folders()
        yield
    _forget_folders()


def _forget_folders() -> None:
    products._find_folder.cache_clear()
    launcher.load_servers.cache_clear()
