"""The tcp paper's own t-tests, as printed and as recomputed."""

import pytest

from benchbook.papers import tcp_samples


def test_students_test_gives_table_8_and_explains_its_misprint():
    table = tcp_samples.recompute_tests().set_index(["measure", "reading"])
    as_meant = table.xs("as meant", level="reading")
    assert as_meant["agrees"].to_dict() == {
        "Total Time": True,
        "Average Time": True,
        "User CPU": True,
        "System CPU": False,
        "Memory": True,
    }
    assert as_meant["p"]["System CPU"] == pytest.approx(3.4e-8, rel=0.02)
    assert as_meant["p_welch"]["System CPU"] == pytest.approx(1.7e-5, rel=0.02)
    misread = table.loc["System CPU", "commas as separators"]
    assert (misread["n_json"], misread["n_xml"], round(misread["p"], 4)) == (5, 8, 0.0038)
    assert misread["agrees"]
