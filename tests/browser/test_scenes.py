"""Three scenes of a bad night: the brake is engaged, a cluster is overfull, an outage runs; with pictures."""

import re

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.chromium import NARROW, WIDE, watched_page
from tests.browser.stand_in import StandIn

SCENES = ("brake", "overfull", "outage")
FOLD = 900
"""Height of the window."""
ONE_LINE = 40
"""Height that a headline of two lines exceeds."""


def bottom_of(page: Page, selector: str) -> float:
    box = page.locator(selector).first.bounding_box()
    assert box is not None
    return box["y"] + box["height"]


def assert_one_line(heading: Locator) -> None:
    box = heading.bounding_box()
    assert box is not None
    assert box["height"] < ONE_LINE


@pytest.mark.parametrize("scene", SCENES)
def test_the_map_is_above_the_fold_and_at_most_five_rows_come_before_it(
    browser: Browser, stand_in: StandIn, scene: str
) -> None:
    with watched_page(browser, stand_in.origin, width=WIDE, cookies={"scene": scene}) as watched:
        page = watched.open("/")
        expect(page.get_by_text("looking what it would do")).to_have_count(0)
        assert 1 <= page.locator(".now li").count() <= 5
        assert bottom_of(page, ".map .tile") <= FOLD
        assert_one_line(page.get_by_role("heading", level=1))
        watched.picture(f"scene-{scene}")


@pytest.mark.parametrize("width", [320, NARROW, 700, 860])
def test_no_tab_is_cut_off(browser: Browser, stand_in: StandIn, width: int) -> None:
    with watched_page(browser, stand_in.origin, width=width, cookies={"scene": "brake"}) as watched:
        page = watched.open("/")
        tabs = page.get_by_role("navigation", name="Pages").get_by_role("link").all()
        assert len(tabs) == 5
        for tab in tabs:
            box = tab.bounding_box()
            assert box is not None
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
        assert watched.overflow() <= 0
        watched.picture(f"scene-brake-{width}")


def test_the_brake_is_one_card_with_all_that_a_release_needs(browser: Browser, stand_in: StandIn) -> None:
    with watched_page(browser, stand_in.origin, cookies={"scene": "brake"}) as watched:
        page = watched.open("/")
        card = page.get_by_role("region", name="Brake")
        expect(card).to_contain_text("Stops evictions of 22 applications: pay/auth, pay/fraud and 20 more.")
        expect(card).to_contain_text("Since 02:39:02")
        release = card.locator("p", has_text="A release:")
        expect(release).to_contain_text("3 of 22 applications would be down")
        expect(release.locator(".bad")).to_have_count(1)
        expect(card.get_by_role("button", name="Release the brake")).to_be_visible()
        card.get_by_role("link", name="See it all").click()
        expect(page).to_have_url(f"{stand_in.origin}/what-if?release=brake")
        expect(page.get_by_text("leeward brake release", exact=True)).to_be_visible()
        page.get_by_role("button", name=re.compile("the brake is released")).click()
        expect(page).to_have_url(f"{stand_in.origin}/what-if")


def test_an_idle_brake_asks_nothing(browser: Browser, stand_in: StandIn) -> None:
    with watched_page(browser, stand_in.origin) as watched:
        asked: list[str] = []
        watched.page.on("request", lambda each: asked.append(each.url))
        page = watched.open("/")
        expect(page.get_by_role("region", name="Brake")).to_contain_text("Brake idle")
        expect(page.get_by_text("A release:")).to_have_count(0)
        assert not [each for each in asked if "what-if" in each]


def test_what_would_be_overfull_is_red_and_names_what_is_short(browser: Browser, stand_in: StandIn) -> None:
    with watched_page(browser, stand_in.origin, cookies={"scene": "overfull"}) as watched:
        page = watched.open("/what-if?fail=m5")
        heading = page.locator("h2.h1")
        expect(heading.locator("svg.bad")).to_have_count(1)
        assert_one_line(heading)
        said = "m4 would be asked for 192 of 128 GiB, and 12 replicas wait for a node there."
        expect(page.locator(".sub.bad")).to_have_text(said)
        tile = page.locator("label.tile", has_text="m4")
        expect(tile.locator(".since .bad").first).to_have_text("150 % of its memory")
        row = page.get_by_role("row", name=re.compile("^ord-1"))
        expect(row.locator(".badge--bad")).to_have_text("ord-2 is overfull")
        expect(row).to_contain_text("150 % of its memory, overfull")
        expect(page.get_by_text("3 of 12 losses after which not everything can run")).to_be_visible()
        watched.picture("scene-overfull-what-if")


def test_memory_and_pods_stand_beside_cores_and_what_is_short_comes_first(browser: Browser, stand_in: StandIn) -> None:
    with watched_page(browser, stand_in.origin) as watched:
        page = watched.open("/")
        rooms = {name: page.locator(f'[data-tile="{name}"] .room > span') for name in ("ord-1", "ams-1")}
        expect(rooms["ams-1"]).to_have_text(["142.5 / 160 cores", "399 / 640 GiB", "130 / 220 Pods"])
        expect(rooms["ord-1"]).to_have_text(["128 / 220 Pods", "74.2 / 128 cores", "208 / 512 GiB"])
        totals = page.locator(".totals")
        expect(totals).to_contain_text("12 clusters, 1 not seen")
        expect(totals).to_contain_text("139 applications")
        expect(totals).to_contain_text("634 replicas")
        expect(totals).to_contain_text("1035.7 / 1536 cores")
        page = watched.open("/clusters/ord-1")
        rows = page.locator("section.panel", has_text="Capacity").locator("tbody th")
        expect(rows).to_have_text(["Pods", "cores", "GiB"])


def test_a_fleet_without_regions_is_a_grid(browser: Browser, stand_in: StandIn) -> None:
    with watched_page(browser, stand_in.origin, cookies={"scene": "overfull"}) as watched:
        for path, tile in (("/", ".map .tile"), ("/what-if", "label.tile")):
            page = watched.open(path)
            boxes = [each.bounding_box() for each in page.locator(tile).all()]
            assert len({box["y"] for box in boxes if box is not None}) == 2
        expect(watched.open("/").get_by_text("No region")).to_have_count(0)


def test_a_wallboard_shows_the_fleet_alone(browser: Browser, stand_in: StandIn) -> None:
    with watched_page(browser, stand_in.origin, cookies={"scene": "brake"}) as watched:
        page = watched.open("/?kiosk")
        expect(page.get_by_role("heading", level=1)).to_contain_text("12 of 139 applications are down")
        expect(page.get_by_role("banner")).to_have_count(0)
        expect(page.get_by_role("button")).to_have_count(0)
        expect(page.locator("main")).to_contain_text(re.compile(r"prod-hub 02:41:\d\d UTC"))
        assert bottom_of(page, "[data-tile] >> nth=-1") <= 1080
        watched.picture("scene-wallboard")
    with watched_page(browser, stand_in.origin, cookies={"signed": "out"}) as watched:
        expect(watched.open("/?kiosk").get_by_role("heading", level=1)).to_have_text("Sign in to prod-hub")
