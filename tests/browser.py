"""Debian's Chromium, driven by Playwright, and what every page must hold to."""

import base64
import hashlib
import io
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import lxml.html
import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

needs_browser = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium on PATH: sudo apt-get install chromium"
)


@contextmanager
def start_browser() -> Iterator[Any]:
    """Yield a browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


def parse_page(page: Path) -> Any:
    """Return the elements of a page."""
    return lxml.html.document_fromstring(page.read_text(encoding="utf-8"))


def find_refused_scripts(page: Path) -> list[str]:
    """Return the beginnings of the scripts in a page that its own policy refuses, by digest."""
    document = parse_page(page)
    (policy,) = document.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")
    scripts = [script.text for script in document.xpath("//script[not(@src or @type)]")]
    assert scripts
    return [script[:80] for script in scripts if _digest(script) not in policy]


def _digest(script: str) -> str:
    """Return a script's digest, as a policy names it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def is_dark_on_white(element: Any) -> bool:
    """Return whether most of an element is white as it is seen, and some of it nearly black."""
    from PIL import Image

    shades = Image.open(io.BytesIO(element.screenshot())).convert("L").histogram()
    return (
        shades.index(max(shades)) == 255
        and shades[255] > sum(shades) / 2
        and sum(shades[:64]) > sum(shades) / 500
    )


_COUNT_ROWS = """() => [...document.querySelectorAll("table.paged")].map(table => {
  const api = new DataTable.Api(table);
  const info = table.closest(".dt-container").querySelector(".dt-info");
  return {
    said: Number(info.textContent.match(/of ([\\d,]+) rows/)[1].replaceAll(",", "")),
    all: api.rows().count(),
    shown: table.tBodies[0].rows.length,
    next: info.closest(".dt-container").querySelectorAll(".dt-paging button.next").length,
  };
})"""


_OPEN_FOLDS = """() => document.querySelectorAll("details:not([open])").forEach(fold => {
  fold.open = true;
  fold.dataset.closed = "";
})"""
_CLOSE_FOLDS = """() => document.querySelectorAll("details[data-closed]").forEach(fold => {
  fold.open = false;
  delete fold.dataset.closed;
})"""
_AXE_OPTIONS = {"rules": {"label-content-name-mismatch": {"enabled": True}}}


class WatchedPage:
    """A page with its errors, and its requests to other addresses than the given ones."""

    def __init__(
        self, browser: Any, *own: str, width: int = 1280, height: int = 800, dark: bool = False
    ) -> None:
        scheme = "dark" if dark else "light"
        self.page = browser.new_page(
            viewport={"width": width, "height": height}, color_scheme=scheme
        )
        self.complaints: list[str] = []
        self.page.on(
            "console",
            lambda said: self.complaints.append(said.text) if said.type == "error" else None,
        )
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on(
            "request",
            lambda asked: None if asked.url.startswith(own) else self.complaints.append(asked.url),
        )

    def find_faults(self) -> list[tuple[str, str, str]]:
        """Return axe-core's findings on the page, its folds open: rule, first element, reason."""
        from axe_playwright_python.sync_playwright import Axe

        self.page.evaluate(_OPEN_FOLDS)
        found = Axe().run(self.page, options=_AXE_OPTIONS).response["violations"]
        self.page.evaluate(_CLOSE_FOLDS)
        firsts = [(violation["id"], violation["nodes"][0]) for violation in found]
        return [(rule, element["html"], element["failureSummary"]) for rule, element in firsts]

    def count_rows(self) -> list[dict[str, int]]:
        """Return how many rows each paged table says, has and shows, and its next pages.

        Raises
        ------
        playwright.sync_api.Error
            When the script of tables did not run.
        """
        counts: list[dict[str, int]] = self.page.evaluate(_COUNT_ROWS)
        return counts

    def check_layouts(self) -> None:
        """Assert that a wide light page and a narrow dark one have no fault and fit the width."""
        for width, scheme in ((1280, "light"), (390, "dark")):
            self.page.set_viewport_size({"width": width, "height": 800})
            self.page.emulate_media(color_scheme=scheme)
            assert self.find_faults() == []
            assert self.page.evaluate("() => document.documentElement.scrollWidth") <= width
