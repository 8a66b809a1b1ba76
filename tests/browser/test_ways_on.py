"""Ways on from a page: the name that was meant, and the report that is taken along."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Route, expect

from tests.browser.chromium import watched_page
from tests.browser.stand_in import LEDGER, OUTAGE, StandIn

FEED = Path(__file__).parents[2] / "web/tests/recorded/feed.json"
REPORT = "# Outages of prod-hub\n"


@pytest.mark.parametrize(
    ("asked", "meant", "found"),
    [
        ("/applications/payments/Deployment/legder", "Deployment payments/ledger", LEDGER),
        ("/applications/payments/deployment/ledger", "Deployment payments/ledger", LEDGER),
        ("/clusters/fra-11", "fra-1", "/clusters/fra-1"),
        ("/applications/a/Deployment/nothing-like-it", "", ""),
        ("/clusters/nothing-like-it", "", ""),
    ],
)
def test_who_has_mistyped_a_name_is_led_to_the_nearest(
    browser: Browser, stand_in: StandIn, asked: str, meant: str, found: str
) -> None:
    with watched_page(browser, stand_in.origin) as watched:
        page = watched.open(asked)
        expect(page.get_by_role("heading", level=1)).to_contain_text("There is no")
        link = page.locator("main p", has_text="Did you mean").get_by_role("link")
        if meant:
            expect(link).to_have_text(meant)
            link.click()
            expect(page).to_have_url(f"{stand_in.origin}{found}")
        else:
            expect(link).to_have_count(0)
        watched.problems[:] = [each for each in watched.problems if "404 (Not Found)" not in each]


def test_the_report_of_an_outage_is_copied(browser: Browser, stand_in: StandIn) -> None:
    with watched_page(browser, stand_in.origin) as watched:
        watched.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=stand_in.origin)
        page = watched.open(OUTAGE)
        page.get_by_role("button", name="Copy the report").click()
        expect(page.get_by_role("button", name="Copied")).to_be_visible()
        assert page.evaluate("navigator.clipboard.readText()") == REPORT


def test_a_report_that_cannot_be_had_is_not_said_to_be_copied(browser: Browser, stand_in: StandIn) -> None:
    with watched_page(browser, stand_in.origin) as watched:
        watched.page.route("**/report", lambda route: route.fulfill(status=502, json={"error": "no answer in time"}))
        page = watched.open(OUTAGE)
        page.get_by_role("button", name="Copy the report").click()
        expect(page.get_by_role("status").filter(has_text="It could not be copied")).to_be_attached()
        watched.problems.clear()


def test_the_fleet_at_an_instant_is_told_as_its_outages_recorded_it(browser: Browser, stand_in: StandIn) -> None:
    with watched_page(browser, stand_in.origin) as watched:
        page = watched.open("/outages?at=2026-11-22T02:37:00Z")
        panel = page.locator("section.panel", has=page.get_by_role("slider"))
        expect(panel.get_by_role("heading")).to_contain_text("The fleet at")
        expect(panel).to_contain_text("evictions allowed, since 02:35:17: 9 moved, 2 staying, 23 not moved yet.")
        slider = panel.get_by_role("slider")
        slider.focus()
        page.keyboard.press("Home")
        expect(panel).to_contain_text("Failing from the first failed probe, since 02:29:47: 34 not moved yet.")
        expect(page).to_have_url(re.compile("at=2026-11-22T02%3A29%3A47"))
        page.keyboard.press("End")
        expect(panel).to_contain_text("24 moved, 3 moving, 1 cannot move, 2 staying, 4 not moved yet.")
        assert watched.findings_of_axe() == []


def test_the_story_of_an_outage_is_asked_for_again_after_an_error_and_when_its_row_changes(
    browser: Browser, stand_in: StandIn
) -> None:
    with watched_page(browser, stand_in.origin) as watched:
        asked = list[str]()

        def answer(route: Route) -> None:
            asked.append(route.request.url)
            if len(asked) == 1:
                route.fulfill(status=502, json={"error": "no answer in time"})
            else:
                route.continue_()

        watched.page.route(f"**/api{OUTAGE}", answer)
        page = watched.open("/outages")
        panel = page.locator("section.panel", has=page.get_by_role("slider"))
        expect(panel).to_contain_text("no answer in time")
        expect(panel).to_contain_text("24 moved", timeout=15_000)
        assert len(asked) == 2
        watched.problems.clear()
        name = OUTAGE.rpartition("/")[2]
        [row] = json.loads(FEED.read_text())["collections"]["outages"].values()
        with page.expect_request(f"**/api{OUTAGE}"):
            stand_in.tell("outages", name, {**row, "name": name, "since": "2026-11-22T02:29:47Z", "moved": 25})
