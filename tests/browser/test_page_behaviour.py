"""Behaviour of the page: addresses, keys, ten thousand rows, hostile names, signing in, acting, a server that goes."""

import re
import time
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, Request, Route, expect

from tests.browser.chromium import NARROW, watched_page
from tests.browser.stand_in import LEDGER, OUTAGE, StandIn, standing_in

MANY = 10_000
TOLD = """async () => {
    const {body} = await fetch("/api/events");
    const reader = body.getReader();
    const decoder = new TextDecoder();
    let text = "";
    while (!text.includes("\\n\\n")) text += decoder.decode((await reader.read()).value, {stream: true});
    await reader.cancel();
    return JSON.parse(text.split("data: ")[1]).collections.fleet.fleet;
}"""
"""The head of the page as the stream tells it."""
MOST_ROWS = 120
"""Rows that may be drawn at once, of however many."""


def drawn(page: Page) -> int:
    return page.locator("tr[data-row]").count()


def test_a_filter_is_in_the_address_and_back_takes_it_away(browser: Browser, stand_in: StandIn) -> None:
    with watched_page(browser, stand_in.origin) as watched:
        page = watched.open("/")
        page.get_by_role("link", name="4 about to move").click()
        expect(page).to_have_url(f"{stand_in.origin}/applications?state=Due")
        expect(page.locator("tr[data-row]")).to_have_count(4)
        page.get_by_role("searchbox").fill("bi/")
        expect(page).to_have_url(re.compile(r"q=bi%2F"))
        expect(page.locator("tr[data-row]")).to_have_count(1)
        page.go_back()
        expect(page.get_by_role("heading", level=1)).to_contain_text("serve with fewer replicas")
        page.goto(f"{stand_in.origin}/applications?state=Due&q=bi/")
        expect(page.locator("tr[data-row]")).to_have_count(1)


def test_ten_thousand_applications_are_scrolled_with_few_rows_drawn(browser: Browser, stand_in: StandIn) -> None:
    with watched_page(browser, stand_in.origin, cookies={"many": str(MANY)}) as watched:
        page = watched.open("/applications")
        expect(page.get_by_text("10000 applications")).to_be_visible()
        first = page.locator("tr[data-row]").first.get_attribute("data-row")
        assert first == "payments/Deployment/ledger"
        assert 20 < drawn(page) <= MOST_ROWS
        for share in (0.25, 0.5, 0.75, 1):
            page.evaluate(f"scrollTo(0, document.documentElement.scrollHeight * {share})")
            expect(page.locator("tr.spacer").first).to_be_attached()
            assert drawn(page) <= MOST_ROWS
        last = sorted(f"team-{index % 97:02}/Deployment/app-{index:05}" for index in range(34, MANY))[-1]
        expect(page.locator(f'tr[data-row="{last}"]')).to_be_visible()
        page.evaluate("scrollTo(0, 0)")
        page.get_by_role("searchbox").fill("app-09999")
        expect(page.locator("tr[data-row]")).to_have_count(1)


def test_the_first_view_of_a_large_fleet_is_drawn(browser: Browser, stand_in: StandIn) -> None:
    """Prints when it was seen (`make browser`, or pytest with -s): seconds depend on the machine, and are no test."""
    with watched_page(browser, stand_in.origin, cookies={"many": str(MANY), "scene": "many"}) as watched:
        performance: Any = watched.context.new_cdp_session(watched.page)
        performance.send("Performance.enable", {"timeDomain": "threadTicks"})
        asked: list[str] = []
        watched.page.on("request", lambda each: asked.append(re.sub(r"-[\w-]+\.", ".", urlsplit(each.url).path)))
        begun = time.monotonic()
        page = watched.open("/")
        expect(page.get_by_role("heading", level=1)).to_contain_text("serve with fewer replicas")
        expect(page.locator("[data-tile]")).to_have_count(100)
        assert sorted(asked) == [
            "/",
            "/api/events",
            "/api/session",
            "/assets/index.js",
            "/assets/style.css",
            "/mark.svg",
        ]
        seen = time.monotonic() - begun
        told: dict[str, float] = {
            each["name"]: each["value"] for each in performance.send("Performance.getMetrics")["metrics"]
        }
        page.goto(f"{stand_in.origin}/applications")
        expect(page.get_by_text("10000 applications")).to_be_visible()
        heap = page.evaluate("performance.memory.usedJSHeapSize") / 2**20
        print(
            f"\n100 clusters and {MANY} applications: first view after {seen:.2f} s, "
            f"{told['TaskDuration']:.2f} s of the processor in the page; {heap:.0f} MiB of script memory"
        )


def test_the_fleet_is_seen_before_all_of_its_applications_have_come(browser: Browser, stand_in: StandIn) -> None:
    with watched_page(browser, stand_in.origin, cookies={"many": str(MANY), "scene": "halting"}) as watched:
        page = watched.open("/")
        expect(page.get_by_role("heading", level=1)).to_contain_text("serve with fewer replicas")
        expect(page.locator("[data-tile]")).to_have_count(12)
        page.get_by_role("link", name="Applications", exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Fleet, loading")
        assert drawn(page) == 0


@pytest.mark.parametrize("many", ["139", str(MANY)])
def test_no_row_is_drawn_over_another_on_a_narrow_page(browser: Browser, stand_in: StandIn, many: str) -> None:
    with watched_page(browser, stand_in.origin, width=NARROW, cookies={"many": many}) as watched:
        for path in ("/applications", OUTAGE, "/outages", "/policies"):
            page = watched.open(path)
            page.locator("tr[data-row]").first.wait_for()
            rows = "[...document.querySelectorAll('tr[data-row]')]"
            assert (
                page.evaluate(
                    f"{rows}.filter(row => row.scrollHeight > row.clientHeight + 1).map(row => row.innerText)"
                )
                == []
            )


def held(name: str) -> dict[str, Any]:
    places = [{"cluster": "sin-1", "replicas": 3, "ready": 0, "seen": True, "leaving": False}]
    said = {
        "reason": "NoPlaceToGo",
        "message": "it finds no room",
        "next": "waits for free capacity",
        "nextAt": None,
        "outage": "",
    }
    known = {"state": "Held", "ready": 0, "wanted": 3, "where": places, "since": "2026-11-22T02:41:19Z"}
    known["serving"] = "Nobody"
    return {"kind": "Deployment", "namespace": "a", "name": name, **known, **said}


def test_rows_change_in_place_and_do_not_jump_under_the_pointer(browser: Browser) -> None:
    with standing_in() as server, watched_page(browser, server.origin) as watched:
        page = watched.open("/applications?state=Held")
        rows = page.locator("tr[data-row]")
        expect(rows).to_have_count(1)
        rows.first.hover()
        server.tell("applications", "a/Deployment/first", held("first"))
        expect(rows).to_have_count(2)
        assert rows.first.get_attribute("data-row") == "payments/Deployment/ledger"
        page.mouse.move(1, 1)
        expect(rows.first).to_have_attribute("data-row", "a/Deployment/first")


def test_who_newly_needs_somebody_is_announced_and_nobody_twice(browser: Browser) -> None:
    with standing_in() as server, watched_page(browser, server.origin) as watched:
        page = watched.open("/")
        said = page.locator(".vh[aria-live=polite]")
        expect(said).to_be_empty()
        summary = page.evaluate(TOLD)
        line = {"at": None, "word": "Held", "sentence": "a/first: no room", "about": "application/a/Deployment/first"}
        summary["coming"].insert(0, line)
        server.tell("fleet", "fleet", summary)
        expect(said).to_have_text("a/first: no room")
        summary["headline"] = "fra-2 has been down for 12 min"
        server.tell("fleet", "fleet", summary)
        expect(page.get_by_role("heading", level=1)).to_contain_text("12 min")
        expect(said).to_have_text("a/first: no room")


def test_arrow_keys_move_between_the_tiles_of_the_map(browser: Browser, stand_in: StandIn) -> None:
    with watched_page(browser, stand_in.origin) as watched:
        page = watched.open("/")
        page.locator('[data-tile="iad-1"]').focus()
        page.keyboard.press("ArrowDown")
        expect(page.locator('[data-tile="iad-2"]')).to_be_focused()
        page.keyboard.press("ArrowRight")
        focused = page.evaluate("document.activeElement.dataset.tile")
        assert focused is not None
        assert focused != "iad-2"
        page.keyboard.press("Enter")
        expect(page).to_have_url(f"{stand_in.origin}/clusters/{focused}")


def test_arrow_keys_read_the_time_line(browser: Browser, stand_in: StandIn) -> None:
    with watched_page(browser, stand_in.origin) as watched:
        page = watched.open(OUTAGE)
        line = page.get_by_role("slider")
        expect(line).to_have_attribute(
            "aria-valuetext", re.compile("24 moved, 3 moving, 1 cannot move, 2 staying, 4 not moved yet")
        )
        line.focus()
        page.keyboard.press("Home")
        page.keyboard.press("ArrowRight")
        expect(line).to_have_attribute("aria-valuetext", re.compile(": 34 not moved yet"))
        page.keyboard.press("End")
        expect(line).to_have_attribute("aria-valuetext", re.compile("24 moved"))
        page.keyboard.press("ArrowLeft")
        expect(line).to_have_attribute("aria-valuetext", re.compile("moving"))


def test_space_chooses_what_fails_and_a_heading_all_of_a_region(browser: Browser, stand_in: StandIn) -> None:
    with watched_page(browser, stand_in.origin) as watched:
        page = watched.open("/what-if")
        page.get_by_role("checkbox", name="sin-1").focus()
        page.keyboard.press("Space")
        expect(page).to_have_url(f"{stand_in.origin}/what-if?fail=sin-1")
        expect(page.get_by_text("leeward what-if --fail sin-1", exact=True)).to_be_visible()
        page.get_by_role("button", name=re.compile(r"^ap\b.*choose all of it")).click()
        expect(page).to_have_url(f"{stand_in.origin}/what-if?fail=sin-1&fail=sin-2&fail=syd-1")
        page.go_back()
        expect(page).to_have_url(f"{stand_in.origin}/what-if?fail=sin-1")


def test_a_zone_is_chosen_and_let_go_as_a_whole(browser: Browser, stand_in: StandIn) -> None:
    with watched_page(browser, stand_in.origin) as watched:
        page = watched.open("/what-if?fail=syd-1")
        region = page.get_by_role("region", name="Region eu")
        zone = region.get_by_role("button", name=re.compile("choose all of the zone")).first
        of_zone = zone.locator("xpath=..").get_by_role("checkbox")
        expect(of_zone.first).to_be_visible()
        names = [box.get_attribute("data-tile") for box in of_zone.all()]
        zone.click()
        chosen = "".join(f"&fail={name}" for name in names)
        expect(page).to_have_url(f"{stand_in.origin}/what-if?fail=syd-1{chosen}")
        expect(zone).to_have_attribute("aria-pressed", "true")
        zone.click()
        expect(page).to_have_url(f"{stand_in.origin}/what-if?fail=syd-1")
        expect(zone).to_have_attribute("aria-pressed", "false")


def test_an_answer_says_what_each_region_has_left_and_leads_to_each_application(
    browser: Browser, stand_in: StandIn
) -> None:
    with watched_page(browser, stand_in.origin) as watched:
        page = watched.open("/what-if?fail=iad-1&fail=iad-2")
        expect(page.get_by_text(re.compile("fra-2 already down"))).to_be_visible()
        expect(page.get_by_role("region", name="Region us")).to_contain_text(re.compile(r"cores free 249 → \d+"))
        expect(page.get_by_role("region", name="Region ap")).to_contain_text(re.compile(r"cores free 135 → 135"))
        expect(page.get_by_text("1 application, 4 replicas")).to_be_visible()
        promo = page.get_by_role("link", name="shop/promo")
        expect(promo).to_have_attribute("href", "/applications/shop/Deployment/promo")


def test_an_answer_says_what_would_help_and_marks_each_step_by_what_it_is(browser: Browser, stand_in: StandIn) -> None:
    with watched_page(browser, stand_in.origin) as watched:
        page = watched.open("/what-if?fail=iad-1")
        no_room = page.locator("section.panel", has=page.get_by_role("heading", name="Would be down"))
        expect(no_room).to_contain_text("What would help: leeward uncordon ord-2: it would fit.")
        steps = page.locator("section.panel", has=page.get_by_role("heading", name="When", exact=True)).locator("li")
        icons = [step.locator("use").get_attribute("href") for step in steps.all()]
        assert icons == ["#i-notready", "#i-notready", "#i-moving"]
        rows = {row[0]: row[5:7] for row in rows_of(page, "If one more fails")}
        assert rows["fra-2"] == ["", ""]
        assert rows["ams-2"] == ["sin-1", "60 % of its cores"]


def test_shorter_clocks_are_asked_about_from_an_outage_and_taken_out_again(browser: Browser, stand_in: StandIn) -> None:
    with watched_page(browser, stand_in.origin) as watched:
        page = watched.open(OUTAGE)
        expect(page.get_by_role("heading", name="Where the time went")).to_be_visible()
        expect(page.get_by_role("link", name="What if they were shorter")).to_have_count(0)
        page = watched.open("/outages/ord-1-20261121-164402")
        page.get_by_role("link", name="What if they were shorter").click()
        asked = "/what-if?fail=ord-1&cluster-failure-threshold=15&failover-eviction-timeout=150"
        expect(page).to_have_url(f"{stand_in.origin}{asked}")
        clocks = "but for --cluster-failure-threshold 15 s and --failover-eviction-timeout 2 min 30 s"
        expect(page.get_by_text(re.compile(clocks))).to_be_visible()
        page.get_by_role("button", name="with --failover-eviction-timeout 2 min 30 s").click()
        expect(page).to_have_url(f"{stand_in.origin}{asked.rpartition('&')[0]}")


def test_the_head_of_an_application_is_the_answer(browser: Browser, stand_in: StandIn) -> None:
    with watched_page(browser, stand_in.origin) as watched:
        page = watched.open(LEDGER)
        expect(page.get_by_role("heading", level=1)).to_have_text("payments/ledger: 3 of 9 replicas find no room")
        expect(page.get_by_text(re.compile(r"9 replicas asked for, \d serve"))).to_be_visible()


def test_what_is_held_in_an_outage_says_since_when_and_what_it_waits_for(browser: Browser, stand_in: StandIn) -> None:
    with watched_page(browser, stand_in.origin) as watched:
        page = watched.open(OUTAGE)
        held = page.locator("section.callout")
        expect(held).to_contain_text("payments/ledger")
        expect(held).to_contain_text("Next: no instant; it waits for free capacity.")
        expect(held.get_by_role("link", name="See what would help")).to_have_attribute("href", LEDGER)
        figures = [each.inner_text().split("\n") for each in page.locator("dl.figs > div").all()]
        assert [each[1:] for each in figures if each[0] == "Cannot move"] == [["1 needs you"]]
        assert [each[1:] for each in figures if each[0] == "Stays by choice"] == [["2 by design"]]
        assert rows_of(page, "Moved")[0][5:] == ["43 s", "11 min 13 s"]


def all_held(route: Route) -> None:
    """An outage of which everything is held, for one reason but for one application."""
    answer = route.fetch()
    told = answer.json()
    for number, each in enumerate(told["applications"]):
        each |= {"state": "Held", "reason": "NoPlaceToGo", "message": "the brake" if number == 5 else "no room"}
    told["status"]["held"] = len(told["applications"])
    route.fulfill(response=answer, json=told)


def test_of_an_outage_with_all_held_a_reason_is_said_once_and_few_are_shown(
    browser: Browser, stand_in: StandIn
) -> None:
    with watched_page(browser, stand_in.origin) as watched:
        watched.page.route("**/api/outages/*", all_held)
        page = watched.open(OUTAGE)
        held = page.locator("section.callout")
        expect(held).to_contain_text("33 for the same reason: no room")
        assert held.inner_text().count("no room") == 1
        expect(held.get_by_role("link", name="See what would help")).to_have_count(20)
        expect(held).to_contain_text("14 more cannot move")
        expect(held.get_by_role("link", name="list of all that cannot move")).to_have_attribute(
            "href", "/applications?state=Held"
        )


def rows_of(page: Page, heading: str) -> list[list[str]]:
    """The cells of the table of a panel, as they are read."""
    panel = page.locator("section.panel").filter(has=page.get_by_role("heading", name=heading, exact=True))
    rows = panel.locator("tbody tr").all()
    return [[cell.inner_text().split("\n")[0] for cell in row.locator("th, td").all()] for row in rows]


def test_the_parts_of_a_recovery_add_up_and_those_who_took_what_left_are_counted(
    browser: Browser, stand_in: StandIn
) -> None:
    with watched_page(browser, stand_in.origin) as watched:
        page = watched.open(OUTAGE)
        expect(page.get_by_role("heading", name="Where the time went")).to_be_visible()
        parts = rows_of(page, "Where the time went")
        assert [row[0] for row in parts] == ["found out", "waited for its return", "tolerated", "moved"]
        assert [row[1] for row in parts[:3]] == ["30 s", "5 min", "5 min"]
        expect(page.get_by_text(re.compile("10 min 30 s of 11 min .* are your clocks"))).to_be_visible()
        assert [row[:3] for row in rows_of(page, "Where they went")[:2]] == [
            ["fra-1", "27", "54"],
            ["fra-3", "24", "24"],
        ]


def test_names_of_others_are_text(browser: Browser, stand_in: StandIn) -> None:
    with watched_page(browser, stand_in.origin, cookies={"scene": "hostile"}) as watched:
        for path in ("/", "/?view=table", "/applications", "/what-if"):
            page = watched.open(path)
            expect(page.get_by_text("<img src=x").first).to_be_attached()
            assert page.locator("img").count() == 0
            assert page.locator("script:not([src])").count() == 0
            assert "owned" not in page.title()


def test_who_has_not_signed_in_sees_nothing_and_a_wrong_token_is_refused(browser: Browser, stand_in: StandIn) -> None:
    with watched_page(browser, stand_in.origin, cookies={"signed": "out"}) as watched:
        page = watched.open("/applications")
        expect(page.get_by_role("heading", level=1)).to_have_text("Sign in to prod-hub")
        page.get_by_label("Bearer token").fill("wrong")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("alert")).to_have_text("the control plane does not know this token")
        watched.problems.clear()
        page.get_by_label("Bearer token").fill("right")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Applications")
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Sign in to prod-hub")


@pytest.mark.parametrize("key", ["%", "%E0%A4%A", "100%"])
def test_a_link_whose_key_is_cut_off_leads_to_the_sign_in(browser: Browser, stand_in: StandIn, key: str) -> None:
    with watched_page(browser, stand_in.origin, cookies={"signed": "out"}) as watched:
        page = watched.open(f"/#key={key}")
        expect(page.get_by_role("heading", level=1)).to_have_text("Sign in to prod-hub")
        assert "key=" not in page.url
        watched.problems.clear()
        page.get_by_label("Bearer token").fill("right")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("heading", level=1)).not_to_have_text("Sign in to prod-hub")


def test_what_an_action_would_do_is_shown_before_it_is_done(browser: Browser, stand_in: StandIn) -> None:
    with watched_page(browser, stand_in.origin) as watched:
        page = watched.open("/clusters/fra-1")
        page.get_by_role("button", name="Drain fra-1").click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("drain would be done.")
        expect(dialog).to_contain_text("1 of 3 applications would be down")
        dialog.get_by_role("button", name="Drain fra-1").click()
        expect(dialog).to_contain_text("drain is done.")
        with watched_page(browser, stand_in.origin, cookies={"scene": "brake"}) as braked:
            page = braked.open("/")
            button = page.get_by_role("button", name="Release the brake")
            expect(button).to_have_attribute("aria-disabled", "true")
            expect(page.get_by_text("operator may not patch configmaps")).to_be_visible()


ACTIONS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "drain": ("/clusters/fra-1", "Drain fra-1", {"cluster": "fra-1", "budget": 5}),
    "cordon": ("/clusters/fra-1", "Cordon fra-1", {"cluster": "fra-1"}),
    "uncordon": ("/clusters/ord-2", "Uncordon ord-2", {"cluster": "ord-2"}),
    "undo": ("/clusters/ord-2", "Undo the drain of ord-2", {"cluster": "ord-2"}),
    "rebalance": (LEDGER, "Rebalance it", {"workload": "Deployment/ledger", "namespace": "payments"}),
    "brake-release": ("/", "Release the brake", {}),
}
"""Place of each action, its button, and what is then asked of the server."""


@pytest.mark.parametrize("action", ACTIONS)
def test_each_action_is_asked_about_before_it_is_confirmed(browser: Browser, stand_in: StandIn, action: str) -> None:
    path, label, asked = ACTIONS[action]
    cookies = {"scene": "brake"} if action == "brake-release" else {}
    with watched_page(browser, stand_in.origin, cookies=cookies) as watched:
        sent: list[tuple[str, Any]] = []
        watched.page.route("**/api/session", allow_all)
        watched.page.on("request", lambda each: sent.append(told(each)) if "/api/actions/" in each.url else None)
        page = watched.open(path)
        page.get_by_role("button", name=label).click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text(f"{action} would be done.")
        expect(dialog).to_contain_text("leeward what-if")
        assert [each[0] for each in sent] == [f"{action}?dry-run"]
        if "budget" in asked:
            dialog.get_by_role("spinbutton").fill(str(asked["budget"]))
        dialog.get_by_role("button", name=label).click()
        expect(dialog).to_contain_text(f"{action} is done.")
        assert sent[-1] == (action, asked)
        assert all(each[0].endswith("?dry-run") for each in sent[:-1])


def told(request: Request) -> tuple[str, Any]:
    """Names the action that is asked for, and its object; the name of a dry run ends with that."""
    return request.url.partition("/api/actions/")[2], request.post_data_json


def allow_all(route: Route) -> None:
    """Every right to act, whatever the stand-in says."""
    answer = route.fetch()
    route.fulfill(response=answer, json={**answer.json(), "actions": dict.fromkeys(ACTIONS, "")})


def test_the_readers_zone_and_theme_are_kept(browser: Browser, stand_in: StandIn) -> None:
    with watched_page(browser, stand_in.origin) as watched:
        page = watched.open(LEDGER)
        expect(page.get_by_title("Swap which clock comes first")).to_contain_text(re.compile(r"02:41:\d\d UTC · 03:41"))
        page.get_by_title("Swap which clock comes first").click()
        page.get_by_role("button", name="Light / dark").click()
        page.reload()
        expect(page.get_by_title("Swap which clock comes first")).to_contain_text(re.compile(r"03:41:\d\d"))
        expect(page.locator("html")).to_have_attribute("data-theme", "dark")
        expect(page.locator("main time").first).to_have_text(re.compile("03:4"))


def test_a_page_whose_server_is_gone_says_so_and_keeps_what_it_shows(browser: Browser) -> None:
    with standing_in() as server, watched_page(browser, server.origin) as watched:
        page = watched.open("/")
        expect(page.get_by_role("heading", level=1)).to_contain_text("serve with fewer replicas")
        server.stop()
        expect(page.get_by_role("alert")).to_contain_text("Not live")
        expect(page.get_by_role("heading", level=1)).to_contain_text("serve with fewer replicas")
        stood = page.locator(".clock").inner_text()
        page.wait_for_timeout(1500)
        assert page.locator(".clock").inner_text() == stood
        watched.problems.clear()


def test_a_page_that_finds_no_control_plane_says_who_it_is_that_does_not_answer(
    browser: Browser, stand_in: StandIn
) -> None:
    with watched_page(browser, stand_in.origin) as watched:
        refusal = {"error": "the control plane does not answer: no answer in time"}
        watched.page.route("**/api/session", lambda route: route.fulfill(status=502, json=refusal))
        page = watched.open("/")
        expect(page.get_by_role("heading", level=1)).to_have_text("The control plane does not answer")
        watched.page.unroute("**/api/session")
        page.get_by_role("button", name="Try again").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("serve with fewer replicas")
        watched.problems.clear()


def test_a_clock_of_the_reader_that_is_wrong_changes_no_time(browser: Browser, stand_in: StandIn) -> None:
    with watched_page(browser, stand_in.origin) as watched:
        watched.page.add_init_script("const real = Date.now; Date.now = () => real() + 3_600_000;")
        page = watched.open("/")
        expect(page.get_by_title("Swap which clock comes first")).to_contain_text(re.compile(r"02:41:\d\d UTC"))
        expect(page.locator("main")).to_contain_text(re.compile(r"in 3 min 5\d s"))
