"""Each page and each state of it: axe finds nothing, nothing overflows, the console is silent, nothing is loaded."""

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.chromium import NARROW, WIDE, watched_page
from tests.browser.stand_in import LEDGER, OUTAGE, StandIn

PAGES = {
    "fleet": "/",
    "fleet-table": "/?view=table",
    "wallboard": "/?kiosk",
    "cluster": "/clusters/fra-1",
    "outages": "/outages",
    "outage": OUTAGE,
    "no-outage": "/outages/none",
    "applications": "/applications",
    "no-match": "/applications?q=nothing-like-it",
    "application": LEDGER,
    "no-application": "/applications/a/Deployment/b",
    "what-if": "/what-if?fail=iad-1&fail=iad-2",
    "nothing-chosen": "/what-if",
    "policies": "/policies",
    "no-page": "/nowhere",
}
LOOKS = {"wide": (WIDE, "light"), "dark": (WIDE, "dark"), "narrow": (NARROW, "light")}
STATES = ("calm", "brake", "overfull", "empty", "norights", "silent", "many", "hostile", "long")
LONG = "a-cluster-whose-name-has-as-many-letters-as-a-label-may-have-63"
WITH_LONG_NAMES = (
    f"/clusters/{LONG}",
    f"/what-if?fail={LONG}",
    "/?view=table",
    "/applications",
    "/outages",
    "/policies",
)
PICTURES = {
    ("fleet", "wide"): "dashboard-fleet",
    ("fleet", "dark"): "dashboard-fleet-dark",
    ("fleet", "narrow"): "dashboard-fleet-narrow",
    ("outage", "wide"): "dashboard-outage",
    ("application", "wide"): "dashboard-application",
    ("what-if", "wide"): "dashboard-what-if",
}
"""Pages and looks of which a picture is kept, and its name."""


def look_at(browser: Browser, stand_in: StandIn, path: str, look: str, picture: str, **cookies: str) -> None:
    width, theme = LOOKS[look]
    with watched_page(browser, stand_in.origin, width=width, theme=theme, cookies=cookies) as watched:
        page = watched.open(path)
        expect(page.locator(".sk")).to_have_count(0)
        page.wait_for_load_state("load")
        if picture:
            watched.picture(picture)
        assert watched.findings_of_axe() == []
        assert watched.overflow() <= 0
        if path.startswith(("/outages/none", "/applications/a/")):
            watched.problems[:] = [each for each in watched.problems if "404 (Not Found)" not in each]


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_for_everybody(browser: Browser, stand_in: StandIn, name: str, look: str) -> None:
    look_at(browser, stand_in, PAGES[name], look, PICTURES.get((name, look), ""))


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("scene", STATES)
def test_a_state_of_the_fleet_is_for_everybody(browser: Browser, stand_in: StandIn, scene: str, look: str) -> None:
    look_at(browser, stand_in, "/", look, "", scene=scene)


@pytest.mark.parametrize("look", LOOKS)
def test_signing_in_is_for_everybody(browser: Browser, stand_in: StandIn, look: str) -> None:
    look_at(browser, stand_in, "/", look, "", signed="out")


@pytest.mark.parametrize("look", ["wide", "narrow"])
@pytest.mark.parametrize("path", WITH_LONG_NAMES)
def test_long_names_make_no_page_wider(browser: Browser, stand_in: StandIn, path: str, look: str) -> None:
    look_at(browser, stand_in, path, look, "", scene="long")
