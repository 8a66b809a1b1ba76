"""The walkthrough, watched in the page of real processes: a member dies, its application moves, and it comes back."""

import re
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
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
    return link.partition("/open")[0].rstrip("/")


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
        headline(page, "member1 has been down for")
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
        headline(page, "member1, away for")
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
        headline(page, "The clusters may not be seen")
        assert "member1" not in page.content()


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
