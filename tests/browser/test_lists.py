"""Lists of applications and policies, and the objects behind one: filters in the address, nothing cut off, YAML."""

import re

import pytest
from playwright.sync_api import Browser, Route, expect

from tests.browser.chromium import NARROW, WIDE, watched_page
from tests.browser.stand_in import LEDGER, OUTAGE, StandIn

CUT_OFF = """() => [...document.querySelectorAll("main th, main td, main .badge")]
    .filter(each => each.scrollWidth > each.clientWidth + 1 && getComputedStyle(each).overflowX !== "visible")
    .map(each => each.textContent.trim())"""
"""Texts of a table of which a part is not seen."""
BEYOND_THEIR_CELL = """() => [...document.querySelectorAll("main td .badge, main td time")]
    .filter(each => each.getBoundingClientRect().right > each.closest("td").getBoundingClientRect().right + 1)
    .map(each => each.textContent.trim())"""


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("path", ["/applications", "/policies", "/clusters/fra-2"])
def test_no_text_of_a_list_is_cut_off(browser: Browser, stand_in: StandIn, path: str, width: int) -> None:
    with watched_page(browser, stand_in.origin, width=width, cookies={"scene": "brake"}) as watched:
        page = watched.open(path)
        page.locator("tr[data-row]").first.wait_for()
        assert page.evaluate(CUT_OFF) == []
        assert page.evaluate(BEYOND_THEIR_CELL) == []
        assert watched.overflow() <= 0


@pytest.mark.parametrize(
    ("asked", "number"),
    [
        ("namespace=payments", 1),
        ("policy=payments%2Feu-only", 1),
        ("cluster=fra-2", 7),
        ("namespace=bi&cluster=fra-2&state=Due", 1),
        ("namespace=bi&policy=payments%2Feu-only", 0),
    ],
)
def test_applications_are_filtered_by_the_address(browser: Browser, stand_in: StandIn, asked: str, number: int) -> None:
    with watched_page(browser, stand_in.origin) as watched:
        page = watched.open(f"/applications?{asked}")
        expect(page.locator("tr[data-row]")).to_have_count(number)


def test_a_filter_that_is_chosen_is_in_the_address_and_back_takes_it_away(browser: Browser, stand_in: StandIn) -> None:
    with watched_page(browser, stand_in.origin) as watched:
        page = watched.open("/applications")
        page.get_by_label("cluster", exact=True).select_option("fra-2")
        expect(page).to_have_url(f"{stand_in.origin}/applications?cluster=fra-2")
        expect(page.locator("tr[data-row]")).to_have_count(7)
        label = page.get_by_label("Labels of the template")
        label.fill("app=ledger")
        label.press("Enter")
        expect(page).to_have_url(re.compile("label=app%3Dledger"))
        expect(page.locator("tr[data-row]")).to_have_count(1)
        expect(page.get_by_text("Labels that cannot be read: Job: may not list jobs")).to_be_visible()
        page.go_back()
        expect(page.locator("tr[data-row]")).to_have_count(7)


def test_policies_tell_their_findings_worst_first_and_where_they_let_go(browser: Browser, stand_in: StandIn) -> None:
    with watched_page(browser, stand_in.origin) as watched:
        page = watched.open("/policies")
        first = page.locator("tr[data-row]").first
        expect(first).to_contain_text("payments/everywhere")
        expect(first.locator('td[data-l="Findings"]')).to_contain_text("it names one cluster")
        told = [page.locator(f'td[data-l="{name}"]').all_inner_texts() for name in ("Lets go to", "Stays")]
        assert told == [
            ["fra-1", "region in (eu)", "any cluster"],
            ["not at all", "5 min", "not-ready 1 min, unreachable for ever"],
        ]
        first.get_by_role("link").click()
        expect(page).to_have_url(f"{stand_in.origin}/applications?policy=payments%2Feverywhere")


def test_a_dead_cluster_shows_no_figures_and_its_taints_one_by_one(browser: Browser, stand_in: StandIn) -> None:
    with watched_page(browser, stand_in.origin) as watched:
        page = watched.open("/clusters/fra-2")
        capacity = page.locator("section.panel", has_text="Capacity")
        expect(capacity).to_contain_text(": how much of it is used is not known.")
        expect(capacity.locator("table, .bar")).to_have_count(0)
        taints = page.locator("section.panel", has=page.get_by_role("heading", name="Taints")).locator("li")
        expect(taints).to_have_text(["cluster.karmada.io/not-ready:NoExecute"])
        expect(page.get_by_text("nodes ready")).to_have_count(0)
        expect(watched.open("/clusters/fra-1").get_by_text("12 of 12 nodes ready")).to_be_visible()


def test_the_manifests_are_one_click_away_and_are_text(browser: Browser, stand_in: StandIn) -> None:
    with watched_page(browser, stand_in.origin) as watched:
        asked: list[str] = []
        watched.page.on("request", lambda each: asked.append(each.url))
        page = watched.open(LEDGER)
        panel = page.locator("section.panel", has=page.get_by_role("heading", name="Manifests"))
        expect(panel.get_by_role("button", name="Work in ams-1")).to_be_visible()
        assert not [each for each in asked if "/api/manifests/" in each]
        panel.get_by_role("button", name="Template").click()
        expect(page).to_have_url(f"{stand_in.origin}{LEDGER}?manifest=Template")
        expect(panel.locator("pre")).to_contain_text("<img src=x onerror=")
        assert page.locator("img").count() == 0
        assert "owned" not in page.title()
        panel.get_by_role("button", name="Work in fra-1").click()
        expect(panel).to_contain_text("Work karmada-es-fra-1/ledger-5c8f: operator may not get works.")
        assert watched.findings_of_axe() == []


def test_who_is_held_without_help_is_told_so(browser: Browser, stand_in: StandIn) -> None:
    with watched_page(browser, stand_in.origin) as watched:
        page = watched.open("/")
        page.get_by_role("link", name=re.compile("^See what would help")).click()
        expect(page).to_have_url(f"{stand_in.origin}{LEDGER}")
        expect(page.locator("#help li")).to_have_count(3)

        def helpless(route: Route) -> None:
            answer = route.fetch()
            told = answer.json()
            told["explanation"]["helps"] = []
            route.fulfill(response=answer, json=told)

        watched.page.route("**/api/applications/**", helpless)
        expect(watched.open(LEDGER).locator("#help")).to_contain_text("No change that was tried gives it a place.")


def test_the_report_of_an_outage_is_a_file_to_share(browser: Browser, stand_in: StandIn) -> None:
    with watched_page(browser, stand_in.origin) as watched:
        page = watched.open(OUTAGE)
        with page.expect_download() as waiting:
            page.get_by_role("button", name="Download the report").click()
        assert waiting.value.suggested_filename == "fra-2-20261122-022947.md"
        assert waiting.value.path().read_text() == "# Outages of prod-hub\n"
