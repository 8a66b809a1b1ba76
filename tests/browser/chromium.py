"""Debian's Chromium, driven by Playwright, and a page in it of which everything that goes wrong is noted."""

import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
AXE = Path(__file__).parents[2] / "web/node_modules/axe-core/axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
WIDE, NARROW = 1280, 400
PICTURES = Path(os.environ.get("LEEWARD_PICTURES") or Path(__file__).parents[2] / "build/pictures")
"""Folder in which pictures of the main pages are kept."""


@contextmanager
def running_chromium() -> Generator[Browser]:
    path = shutil.which("chromium")
    assert path is not None, "Chromium is missing; on Debian: apt-get install chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(QUIET))
        try:
            yield browser
        finally:
            browser.close()


class WatchedPage:
    """A page at `origin`. `problems` are errors on the console, faults of the page, and requests to anybody else."""

    def __init__(self, context: BrowserContext, origin: str) -> None:
        self.origin = origin
        self.problems: list[str] = []
        self.context = context
        self.page: Page = context.new_page()
        self.page.on("console", lambda said: self._note("console", said.text, said.type in ("error", "warning")))
        self.page.on("pageerror", lambda error: self._note("page", str(error), True))
        self.page.on("request", lambda asked: self._note("elsewhere", asked.url, not asked.url.startswith(origin)))

    def _note(self, kind: str, text: str, is_problem: bool) -> None:
        if is_problem and urlsplit(text).scheme not in ("data", "blob"):
            self.problems.append(f"{kind}: {text}")

    def open(self, path: str) -> Page:
        self.page.goto(f"{self.origin}{path}")
        self.page.locator("main h1", has_not_text=", loading").first.wait_for()
        return self.page

    def findings_of_axe(self) -> list[str]:
        """Findings of axe, as texts. Its script gets in by the driver, past the page's policy."""
        self.page.evaluate(AXE.read_text())
        run = "rules => axe.run(document, {runOnly: rules, resultTypes: ['violations']})"
        found: Any = self.page.evaluate(run, RULES)
        return [
            f"{each['id']}: {node['html'][:160]} {node.get('failureSummary', '')}"
            for each in found["violations"]
            for node in each["nodes"]
        ]

    def overflow(self) -> int:
        """Pixels by which the page is wider than the window."""
        return self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")

    def picture(self, name: str) -> None:
        PICTURES.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=PICTURES / f"{name}.png")


@contextmanager
def watched_page(
    browser: Browser, origin: str, *, width: int = WIDE, theme: str = "light", cookies: dict[str, str] | None = None
) -> Generator[WatchedPage]:
    """A page in a fresh profile; fails the test where it has problems in the end. Certificates are for the test to
    look at: Chromium takes each one."""
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if theme == "dark" else "light",
        timezone_id="Europe/Berlin",
        reduced_motion="reduce",
        ignore_https_errors=origin.startswith("https:"),
    )
    try:
        given = (cookies or {}).items()
        context.add_cookies([{"name": name, "value": value, "url": origin} for name, value in given])
        watched = WatchedPage(context, origin)
        yield watched
        assert watched.problems == []
    finally:
        context.close()
