"""The walkthrough, watched in the page of real processes: a member dies, its application moves, and it comes back."""

import re
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.chromium import WatchedPage, watched_page
from tests.processes.fleet import Fleet, needs_kubectl, running_fleet

EXAMPLES = Path(__file__).parents[2] / "examples"
SLOW_MS = 120_000
STOP_SECONDS = 20
NGINX = "/applications/default/Deployment/nginx"

pytestmark = [pytest.mark.processes, needs_kubectl]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Generator[Fleet]:
    with running_fleet(tmp_path_factory.mktemp("fleet")) as running:
        running.kubectl("create", "-f", str(EXAMPLES / "divided.yaml"))
        running.eventually(lambda: running.assigned("nginx-deployment") == {"member1": 1, "member2": 2}, "1:2")
        yield running


@contextmanager
def dashboard(fleet: Fleet, *options: str) -> Generator[str]:
    """`leeward dashboard` of the fleet; gives the link that it prints."""
    command = [sys.executable, "-m", "leeward.cli", "dashboard", "--kubeconfig", str(fleet.data_dir / "kubeconfig")]
    process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    try:
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found is not None, "it has printed no link"
        yield found.group()
    finally:
        process.terminate()
        process.wait(STOP_SECONDS)
        process.stdout.close()


def origin_of(link: str) -> str:
    return link.partition("/#")[0]


def headline(page: Page, said: str) -> None:
    expect(page.get_by_role("heading", level=1)).to_contain_text(re.compile(said), timeout=SLOW_MS)


def told_beforehand(watched: WatchedPage) -> str:
    """Clusters in which nginx would be without member1, as the page tells it."""
    page = watched.open("/what-if?fail=member1")
    row = page.get_by_role("row", name=re.compile("nginx"))
    expect(row).to_be_visible(timeout=SLOW_MS)
    return row.locator('td[data-l="After"]').inner_text()


def test_an_outage_is_watched_from_its_first_failed_probe_until_it_is_over(browser: Browser, fleet: Fleet) -> None:
    with dashboard(fleet) as link, watched_page(browser, origin_of(link)) as watched:
        page = watched.open(link.removeprefix(origin_of(link)))
        headline(page, "All 3 clusters are ready")
        after = told_beforehand(watched)
        watched.open("/")

        fleet.leeward("member", "stop", "member1")
        headline(page, "1 of 1 application serves with fewer replicas|member1 has been down for")
        page.locator('[data-tile="member1"][href^="/outages/"]').click(timeout=SLOW_MS)
        expect(page.get_by_role("slider")).to_be_visible(timeout=SLOW_MS)
        steps = page.locator(".steps li")
        expect(steps.filter(has_text="first failed probe")).to_have_count(1)
        expect(steps.filter(has_text="leaves")).to_have_count(1, timeout=SLOW_MS)
        expect(page.locator(".figs div", has_text="Moved").locator("dd")).to_have_text("1 of 1", timeout=SLOW_MS)
        expect(page.get_by_role("slider")).to_have_attribute("aria-valuetext", re.compile("1 moved"))

        page.get_by_role("link", name="Applications", exact=True).click()
        expect(page.locator('td[data-l="Where"]')).to_have_text(after, timeout=SLOW_MS)
        assert fleet.assigned("nginx-deployment") == {
            name: int(number) for name, number in (place.split(":") for place in after.split())
        }
        watched.open(NGINX)
        expect(page.get_by_role("row", name=re.compile(r"^member2 Ready 3 3 \d\d:\d\d:\d\d"))).to_be_visible()

        fleet.leeward("member", "start", "member1")
        watched.open("/outages")
        expect(page.get_by_role("row", name=re.compile("member1"))).to_contain_text("Over", timeout=SLOW_MS)
        page.get_by_role("link", name=re.compile("^member1")).click()
        headline(page, "member1 was down for")
        watched.open("/")
        headline(page, "All 3 clusters are ready")


def test_who_has_no_link_signs_in_and_sees_what_the_control_plane_lets_them(browser: Browser, fleet: Fleet) -> None:
    fleet.kubectl("create", "serviceaccount", "nobody")
    token = fleet.kubectl("create", "token", "nobody").strip()
    with dashboard(fleet) as link, watched_page(browser, origin_of(link)) as watched:
        page = watched.open("/applications")
        headline(page, "Sign in to")
        page.get_by_label("Bearer token").fill("wrong")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("alert")).to_have_text("the control plane does not know this token")
        watched.problems.clear()  # Chromium says of each answer 401 that it was one
        page.get_by_label("Bearer token").fill(token)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("link", name="Fleet", exact=True).click()
        headline(page, "You have no right to see the clusters")
        assert "member1" not in page.content()


def test_two_tabs_are_of_two_users_and_stay_so(browser: Browser, fleet: Fleet) -> None:
    """A tab names the user as whom it asks, whoever signs in or out in another."""
    fleet.kubectl("create", "serviceaccount", "guest")
    token = fleet.kubectl("create", "token", "guest").strip()
    with dashboard(fleet) as link, watched_page(browser, origin_of(link)) as watched:
        origin = origin_of(link)
        guest = watched.open("/")
        headline(guest, "Sign in to")
        guest.get_by_label("Bearer token").fill(token)
        guest.get_by_role("button", name="Sign in").click()
        headline(guest, "You have no right to see the clusters")
        owner = watched.context.new_page()
        owner.goto(link)
        headline(owner, "All 3 clusters are ready")
        for _ in range(2):
            guest.reload()
            headline(guest, "You have no right to see the clusters")
            expect(guest.locator("header.top")).to_contain_text("serviceaccount:default:guest")
            owner.reload()
            headline(owner, "All 3 clusters are ready")
            expect(owner.locator("header.top")).not_to_contain_text("guest")
        guest.get_by_role("button", name="Sign out").click()
        headline(guest, "Sign in to")
        owner.goto(f"{origin}/applications")
        expect(owner.locator('td[data-l="Where"]')).to_be_visible(timeout=SLOW_MS)


def test_a_link_that_is_opened_in_a_tab_shows_its_own_user(browser: Browser, fleet: Fleet) -> None:
    """A tab of somebody who may see nothing shows all that the new user may see."""
    fleet.kubectl("create", "serviceaccount", "visitor")
    token = fleet.kubectl("create", "token", "visitor").strip()
    with dashboard(fleet) as link, watched_page(browser, origin_of(link)) as watched:
        page = watched.open("/")
        headline(page, "Sign in to")
        page.get_by_label("Bearer token").fill(token)
        page.get_by_role("button", name="Sign in").click()
        headline(page, "You have no right to see the clusters")
        page.evaluate("key => { location.hash = key }", link.partition("#")[2])
        headline(page, "All 3 clusters are ready")


def test_a_cluster_is_cordoned_by_whoever_may_and_only_where_that_is_let(browser: Browser, fleet: Fleet) -> None:
    with dashboard(fleet) as link, watched_page(browser, origin_of(link)) as watched:
        watched.open(link.removeprefix(origin_of(link)))
        page = watched.open("/clusters/member3")
        expect(page.get_by_role("button", name="Cordon member3")).to_have_attribute("aria-disabled", "true")
        expect(page.get_by_text("--allow-actions").first).to_be_visible()
    with dashboard(fleet, "--allow-actions") as link, watched_page(browser, origin_of(link)) as watched:
        watched.open(link.removeprefix(origin_of(link)))
        page = watched.open("/clusters/member3")
        page.get_by_role("button", name="Cordon member3").click()
        dialog = page.get_by_role("dialog", name="Cordon member3")
        expect(dialog).to_contain_text("nothing new is placed in member3")
        assert fleet.get("cluster", "member3")["spec"].get("taints", []) == []
        dialog.get_by_role("button", name="Cordon member3").click()
        expect(page.locator(".sub .badge")).to_have_text("Cordoned", timeout=SLOW_MS)
        assert [taint["effect"] for taint in fleet.get("cluster", "member3")["spec"]["taints"]] == ["NoSchedule"]
        fleet.leeward("uncordon", "member3")


@contextmanager
def listening_beside() -> Generator[tuple[str, list[str]]]:
    """Another server of this host; gives its address, and all that browsers send it."""
    heard: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            heard.append(f"{self.path} {self.headers}")
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>beside</title><h1>beside</h1>")

        def log_message(self, format: str, *args: object) -> None:
            """Nothing is logged."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", heard
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_no_other_port_of_the_host_gets_the_session_and_a_link_is_good_once(browser: Browser, fleet: Fleet) -> None:
    with dashboard(fleet) as link, listening_beside() as (beside, heard):
        with watched_page(browser, origin_of(link)) as watched:
            page = watched.open(link.removeprefix(origin_of(link)))
            headline(page, "All 3 clusters are ready")
            assert "key=" not in page.url
            secret = page.evaluate("localStorage.getItem('leeward-session')")
            key = link.partition("#key=")[2]
            other = watched.context.new_page()
            other.goto(beside)
            assert other.evaluate("document.cookie + JSON.stringify(localStorage)") == "{}"
            said = "\n".join(heard)
            assert "beside" in other.title()
            assert "Cookie:" not in said
            assert secret not in said
            other.goto(f"{origin_of(link)}/applications")
            expect(other.locator('td[data-l="Where"]')).to_be_visible(timeout=SLOW_MS)
            listed = subprocess.run(["ps", "-eww", "-o", "args"], capture_output=True, text=True, check=True).stdout
            assert key not in listed
            assert secret not in listed
        with watched_page(browser, origin_of(link)) as watched:
            page = watched.open(link.removeprefix(origin_of(link)))
            headline(page, "Sign in to")
            expect(page.get_by_role("alert")).to_contain_text("this link is used")
            watched.problems.clear()  # Chromium says of each answer 401 that it was one
