"""Checks of servers: how the contract suite ended for a product's adapters on a real server.

`benchbook servers check` records them in `CHECKS_FILE` of the results' folder. A check holds for
cells of the same product, server version and topology, while the adapters have the same
``VERSION``. Cells that are measured after it store its date in ``checked``.
"""

from typing import TYPE_CHECKING, Final

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from benchbook.files.inputs import InputError
from benchbook.files.suite_files import write_file
from benchbook.registry import products
from benchbook.results.folder import ResultsFolder, open_results

if TYPE_CHECKING:
    import pandas as pd

CHECKS_FILE: Final = "server_checks.json"


class ServerCheck(BaseModel):
    """The outcome of the contract suite for one product, server version and topology."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    product: str
    version: str  # As the server says.
    topology: str
    adapter: int  # The ``VERSION`` of the product's adapters.
    image_digest: str | None  # None: not in a container.
    date: str  # UTC.
    failed: tuple[str, ...]  # The tests that failed; none: the check is passed.

    @property
    def key(self) -> tuple[str, str, str]:
        """What a cell must have for this check to hold for it."""
        return self.product, self.version, self.topology


_CHECKS: Final = TypeAdapter(list[ServerCheck])


def load_checks(results: ResultsFolder) -> list[ServerCheck]:
    """Return all checks that are recorded in a folder, also those that failed.

    Raises `InputError` when the file is damaged.
    """
    path = results.path / CHECKS_FILE
    try:
        return _CHECKS.validate_json(path.read_bytes())
    except FileNotFoundError:
        return []
    except ValidationError as error:
        why = f"it is damaged ({error.errors()[0]['msg']}): remove it, and check the servers again"
        raise InputError(str(path), why) from error


def record_check(results: ResultsFolder, check: ServerCheck) -> None:
    """Write a check, in place of an earlier one of the same product, version and topology."""
    others = [other for other in load_checks(results) if other.key != check.key]
    text = _CHECKS.dump_json([*others, check], indent=1)
    write_file(results.path / CHECKS_FILE, text, durable=True)


def list_check_dates(results: ResultsFolder) -> dict[tuple[str, str, str], str]:
    """Return the date of each check that holds, by product, server version and topology."""
    dates = {}
    for check in load_checks(results):
        # A plug-in may have been removed since.
        if check.failed or check.product not in products.PRODUCTS:
            continue
        if products.find_missing_plugin(check.product):
            continue
        if check.adapter == products.read_adapter_version(check.product):
            dates[check.key] = check.date
    return dates


def is_unchecked(database: str) -> bool:
    """Return whether an adapter is of a plug-in and no version of its product was checked."""
    if database not in products.PLUGIN_DATABASES:
        return False
    checked = {product for product, _, _ in list_check_dates(open_results())}
    return products.parse_name(database).product not in checked


def add_check_dates(means: "pd.DataFrame", results: ResultsFolder) -> "pd.DataFrame":
    """Return block means with ``checked`` also where the check came after the measurement."""
    dates = list_check_dates(results)
    if not dates:
        return means
    products_of = means["database"].fillna("").map(lambda name: products.parse_name(name).product)
    keys = zip(products_of, means["database_version"], means["topology"], strict=True)
    found = means["checked"].copy()
    found[:] = [dates.get(key) for key in keys]
    return means.assign(checked=means["checked"].fillna(found))
