"""Databases of our plug-in where it is not installed: one line says how to get it."""

import re

import pytest

from benchbook import cli
from benchbook.databases import catalogue
from benchbook.databases.adapter import AdapterError
from benchbook.grid.plan import make_plan
from benchbook.registry import products
from shared_servers import explain_missing

INSTALL = "install benchbook-more-databases"


@pytest.fixture(autouse=True)
def without_plugin() -> None:
    if not products.find_missing_plugin("couchbase"):
        pytest.skip("only without the plug-in, which is not installed with the suite")


@pytest.mark.parametrize("database", products.MORE_DATABASES)
@pytest.mark.parametrize("way", ["address", "image", ""])
def test_without_its_plug_in_a_database_is_left_out_in_one_line(
    database: str, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    product = products.parse_name(database).product
    if way == "address":
        url = f"{product}://someone:s3cret@127.0.0.1:1/x"
        monkeypatch.setenv(f"BENCHBOOK_{product.upper()}_URL", url)
    elif way == "image":
        monkeypatch.setenv(f"BENCHBOOK_{product.upper()}_IMAGE", "default")
    assert explain_missing(product) == INSTALL
    with pytest.raises(AdapterError, match=f"{re.escape(database)}: {INSTALL}"):
        catalogue.load_adapter(database)


def test_its_cells_are_skipped_with_that_reason_and_keep_their_titles() -> None:
    plan = make_plan(["crud"], "paper")
    reasons = {cell.missing for cell in plan.cells if "couchbase" in cell.product}
    reasons |= {group.why for group in plan.skipped if "couchbase" in group.what}
    assert reasons == {INSTALL}
    assert products.name_database("sqlserver+relational") == "SQL Server"
    planned = make_plan(["crud"], "paper", everywhere=True).cells
    assert {"couchbase", "sqlserver"} <= {cell.product for cell in planned}


def test_doctor_says_how_to_add_it(capfd: pytest.CaptureFixture[str]) -> None:
    cli.main(["doctor", "--missing"])
    printed = capfd.readouterr().out
    for title in ("Couchbase", "SQL Server", "ArangoDB"):
        assert re.search(rf"^  {title} +{INSTALL}$", printed, re.MULTILINE), printed
