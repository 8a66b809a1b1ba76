"""The page where not all is known yet: it shows what is, else a dash that has a name; and no text is cut off."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from tests.browser.chromium import NARROW, WIDE, watched_page
from tests.browser.stand_in import LEDGER, OUTAGE, StandIn, standing_in

MOVING, MOVED = "media/Deployment/transcode", "shop/Deployment/moved-00"
AS_TOLD = ("to", "leftAt", "healthyAt", "recoverySeconds", "message")
"""Fields that an outage tells of an application with its next write."""


def changed(change: Callable[[Any], None]) -> Callable[[Route], None]:
    """Handler that changes the stand-in's answer."""

    def handle(route: Route) -> None:
        answer = route.fetch()
        told = answer.json()
        change(told)
        route.fulfill(response=answer, json=told)

    return handle


def cell(row: Locator, label: str) -> Locator:
    return row.locator(f'td[data-l="{label}"]')


def expect_dash(cell: Locator, name: str) -> None:
    expect(cell.locator("[aria-hidden=true]")).to_have_text("–")
    expect(cell.locator(".vh")).to_have_text(name)


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_an_application_says_since_when_each_copy_is_there(browser: Browser, stand_in: StandIn, width: int) -> None:
    def on_its_way(told: Any) -> None:
        told["explanation"]["where"][0] |= {"ready": None, "what": "on its way", "thereSince": None}

    with watched_page(browser, stand_in.origin, width=width) as watched:
        watched.page.route("**/api/applications/**", changed(on_its_way))
        page = watched.open(LEDGER)
        since = {name: cell(row_of(page, name), "At least since") for name in ("fra-1", "fra-2", "ams-1")}
        expect(since["ams-1"]).to_have_text(re.compile(r"^02:40:1\d · 1 min \d s$"))
        expect(since["fra-2"]).to_have_text("3 Nov")
        expect_dash(since["fra-1"], "it is not known to be there")
        assert watched.overflow() <= 0


def row_of(page: Page, cluster: str) -> Locator:
    return page.locator("tr", has=page.get_by_role("rowheader", name=cluster, exact=True)).filter(
        has=page.locator('td[data-l="Assigned"]')
    )


def test_what_has_just_moved_is_told_as_far_as_it_is_known(browser: Browser) -> None:
    def just_moved(told: Any) -> None:
        for each in told["applications"]:
            if f"{each['namespace']}/{each['kind']}/{each['name']}" in (MOVING, MOVED):
                for field in AS_TOLD:
                    each.pop(field, None)

    with standing_in() as server, watched_page(browser, server.origin) as watched:
        watched.page.route("**/api/outages/*", changed(just_moved))
        page = watched.open(OUTAGE)
        rows = {key: page.locator(f'tr[data-row="{key}"]') for key in (MOVING, MOVED)}
        expect(cell(rows[MOVING], "To")).to_have_text("now fra-1:2 ams-1:1")
        expect_dash(cell(rows[MOVING], "Left"), "not told yet")
        server.tell("applications", MOVING, leaving(MOVING))
        expect(cell(rows[MOVING], "To")).to_have_text("now ams-1:3")
        expect(cell(rows[MOVING], "Left")).to_contain_text("02:40:47")
        for label in ("Healthy", "Took", "Recovery"):
            expect_dash(cell(rows[MOVED], label), "not told yet")
        assert watched.findings_of_axe() == []


def leaving(key: str) -> dict[str, Any]:
    namespace, kind, name = key.split("/")
    places = [
        {"cluster": "ams-1", "replicas": 3, "ready": 1, "seen": True, "leaving": False},
        {"cluster": "fra-2", "replicas": 0, "ready": None, "seen": False, "leaving": True},
    ]
    known = {"state": "Moving", "ready": 1, "wanted": 3, "where": places, "since": "2026-11-22T02:40:47Z"}
    said = {"reason": "", "message": "", "next": "", "nextAt": None, "outage": OUTAGE.rpartition("/")[2]}
    return {"kind": kind, "namespace": namespace, "name": name, **known, **said}


QUICK: dict[str, str] = {
    "failedAt": "2026-11-22T02:40:57Z",
    "notReadyAt": "2026-11-22T02:40:59Z",
    "noExecuteAt": "2026-11-22T02:41:04Z",
    "message": "cluster is not reachable",
}
"""Instants of an outage with clocks so short that its lanes have hardly room for a word."""
BEYOND = """() => {
    const edge = document.querySelector(".chart").getBoundingClientRect();
    const spans = [...document.querySelectorAll(".chart rect")].map(each => each.getBoundingClientRect());
    const within = (inner, outer) => inner.left >= outer.left - 1 && inner.right <= outer.right + 1;
    return [...document.querySelectorAll(".chart text")].filter(each => {
        const box = each.getBoundingClientRect();
        const middle = (box.top + box.bottom) / 2;
        const own = spans.find(span => span.left <= box.left && box.left <= span.right
            && span.top <= middle && middle <= span.bottom);
        return !within(box, each.classList.contains("in") && own ? own : edge);
    }).map(each => each.textContent);
}"""
"""Texts of the time line that go beyond the span they are in, or beyond the picture."""


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_no_text_of_the_time_line_is_cut_off(browser: Browser, stand_in: StandIn, width: int) -> None:
    def quick(told: Any) -> None:
        told["story"] = [line for line in told["story"] if line["tone"] != "ToCome"]
        told["spec"]["since"] = QUICK["failedAt"]
        told["status"] |= {**QUICK, "returned": 3, "curve": [], "steps": []}
        for each in told["applications"]:
            each["toleratedSeconds"] = 5

    with watched_page(browser, stand_in.origin, width=width) as watched:
        watched.page.route("**/api/outages/*", changed(quick))
        page = watched.open(OUTAGE)
        chart = page.locator(".timeline .chart")
        expect(chart.locator("text", has_text="24 moved")).to_be_visible()
        expect(chart.locator("text", has_text="3 serve there again")).to_be_visible()
        assert page.evaluate(BEYOND) == []
        shown = chart.locator("text.in").all_text_contents()
        assert any(text.endswith("…") for text in shown) == (width == NARROW)
        expect(chart.locator("title", has_text="cluster is not reachable")).to_be_attached()


def test_what_finds_no_room_is_told_with_its_cores(browser: Browser, stand_in: StandIn) -> None:
    def without_a_number(told: Any) -> None:
        (first, *_) = told["answer"]["applications"]
        told["answer"]["applications"].append({**first, "binding": "x/y", "coresMissing": None})

    with watched_page(browser, stand_in.origin) as watched:
        watched.page.route("**/api/what-if?*", changed(without_a_number))
        page = watched.open("/what-if?fail=iad-1")
        expect(cell(page.locator('tr[data-row="shop/promo-deployment"]'), "Cores missing")).to_have_text("4.00")
        expect_dash(cell(page.locator('tr[data-row="x/y"]'), "Cores missing"), "it says no number")
        expect(page.get_by_text("2 applications, 8 replicas missing, 4.0 cores")).to_be_visible()
