"""The dashboard of a real kube-apiserver over HTTPS, in a real browser: who sees what, who may do what, and as whom."""

from collections.abc import Generator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from kubeserver.certificates import Authority
from tests.browser.chromium import WatchedPage, running_chromium, watched_page
from tests.e2e.answers import ask
from tests.e2e.applications import place_divided, remove
from tests.e2e.fleet import Fleet
from tests.ports import free_port

WATCHER, WARDEN = "system:serviceaccount:default:watcher", "system:serviceaccount:default:warden"
USERS = """
apiVersion: v1
kind: Namespace
metadata: {name: vault}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: watcher, namespace: default}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: warden, namespace: default}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: warden}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: warden, namespace: default}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: watches-clusters}
rules: [{apiGroups: [cluster.karmada.io], resources: [clusters], verbs: [get, list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: watches-bindings}
rules: [{apiGroups: [work.karmada.io], resources: [resourcebindings], verbs: [list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: watches-clusters}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: watches-clusters}
subjects: [{kind: ServiceAccount, name: watcher, namespace: default}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: watches-bindings, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: watches-bindings}
subjects: [{kind: ServiceAccount, name: watcher, namespace: default}]
"""
GRANT = """
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: watches-bindings, namespace: vault}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: watches-bindings}
subjects: [{kind: ServiceAccount, name: watcher, namespace: default}]
"""
SECRETIVE = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: ledger, namespace: vault}
spec:
  replicas: 1
  selector: {matchLabels: {app: ledger}}
  template:
    metadata: {labels: {app: ledger}}
    spec: {containers: [{name: ledger, image: ledger}]}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: ledger, namespace: vault}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: ledger}]
  placement: {clusterAffinity: {clusterNames: [member2]}}
"""
PROGRAM = "leeward-dashboard"
SLOW_MS = 90_000
OK, FORBIDDEN = 200, 403
CORDON = """async cluster => {
    const session = localStorage.getItem("leeward-session");
    const headers = {"Content-Type": "application/json", "X-Leeward-Session": session};
    const answer = await fetch("/api/actions/cordon", {method: "POST", headers, body: JSON.stringify({cluster})});
    return {code: answer.status, said: await answer.json()};
}"""
"""A request as a page would send it whose button were pressed although it may not be."""


@dataclass(frozen=True)
class Dashboard:
    origin: str
    authority: Path


@pytest.fixture(scope="module")
def browser() -> Generator[Browser]:
    with running_chromium() as chromium:
        yield chromium


@pytest.fixture
def dashboard(fleet: Fleet, tmp_path: Path) -> Generator[Dashboard]:
    """`leeward dashboard` of the control plane, with actions and a certificate of its own."""
    authority = Authority(tmp_path / "pki", datetime.now(UTC))
    pair, port = authority.server("dashboard"), free_port()
    served = fleet.component(
        "dashboard",
        f"--listen=127.0.0.1:{port}",
        f"--tls-cert={pair.certificate}",
        f"--tls-key={pair.key}",
        "--allow-actions",
    )
    shown = Dashboard(f"https://127.0.0.1:{port}", authority.pair.certificate)
    served.start()
    try:
        fleet.eventually(
            lambda: ask(f"{shown.origin}/healthz", authority=shown.authority).code == 200, "the dashboard answers"
        )
        yield shown
    finally:
        served.stop()


@pytest.fixture
def placed(fleet: Fleet) -> Generator[Fleet]:
    """nginx in `default`, something in `vault`, and two users: the watcher sees `default` alone, the warden may all."""
    fleet.kubectl("apply", "-f", "-", stdin=USERS)
    fleet.kubectl("apply", "-f", "-", stdin=SECRETIVE)
    place_divided(fleet, "member1", "member2")
    try:
        fleet.eventually(lambda: fleet.exists("resourcebinding", "ledger-deployment", "-n", "vault"), "it is placed")
        yield fleet
    finally:
        remove(fleet)
        fleet.kubectl("delete", "--wait=false", "-f", "-", stdin=SECRETIVE)
        fleet.eventually(
            lambda: not fleet.exists("deployment", "ledger", "-n", "vault", context="member2"), "it is gone"
        )
        fleet.kubectl("delete", "--wait=false", "--ignore-not-found", "-f", "-", stdin=USERS)


def sign_in(watched: WatchedPage, fleet: Fleet, account: str) -> Page:
    page = watched.open("/")
    page.get_by_label("Bearer token").fill(fleet.kubectl("create", "token", account).strip())
    page.get_by_role("button", name="Sign in").click()
    return page


def headline(page: Page, said: str) -> None:
    expect(page.get_by_role("heading", level=1)).to_contain_text(said, timeout=SLOW_MS)


def row(page: Page, key: str) -> Locator:
    return page.locator(f'tr[data-row="{key}"]')


def state(page: Page) -> Locator:
    return page.locator(".sub .badge")


def who_patched(fleet: Fleet, cluster: str) -> list[tuple[str, str, int]]:
    """User, program, and answer of each patch of a cluster from a dashboard, as the control plane has recorded it."""
    return [
        (event["user"]["username"], event["userAgent"].partition("/")[0], event["responseStatus"]["code"])
        for event in fleet.control_plane.audited()
        if event["verb"] == "patch" and event["objectRef"]["name"] == cluster and event["userAgent"].startswith(PROGRAM)
    ]


def test_the_real_control_plane_decides_what_is_seen_and_done_and_hears_who_does_it(
    placed: Fleet, dashboard: Dashboard, browser: Browser
) -> None:
    fleet, origin = placed, dashboard.origin
    with watched_page(browser, origin) as watching, watched_page(browser, origin) as warding:
        watcher = sign_in(watching, fleet, "watcher")
        headline(watcher, "All 3 clusters are ready")
        assert watching.context.cookies() == []
        watching.open("/applications")
        expect(row(watcher, "default/Deployment/nginx")).to_be_visible(timeout=SLOW_MS)
        assert "ledger" not in watcher.content()
        fleet.kubectl("apply", "-f", "-", stdin=GRANT)
        watching.open("/clusters/member3")
        expect(watcher.get_by_role("button", name="Cordon member3")).to_have_attribute("aria-disabled", "true")
        expect(watcher.get_by_text(f"{WATCHER} may not patch clusters.cluster.karmada.io").first).to_be_visible()
        assert watcher.evaluate(CORDON, "member3")["code"] == FORBIDDEN
        watching.problems.clear()  # Chromium says of each answer 403 that it was one

        warden = sign_in(warding, fleet, "warden")
        headline(warden, "All 3 clusters are ready")
        warding.open("/applications")
        expect(row(warden, "vault/Deployment/ledger")).to_be_visible(timeout=SLOW_MS)
        warding.open("/clusters/member3")
        warden.get_by_role("button", name="Cordon member3").click()
        dialog = warden.get_by_role("dialog", name="Cordon member3")
        expect(dialog).to_contain_text("nothing new is placed in member3")
        dialog.get_by_role("button", name="Cordon member3").click()

        expect(state(watcher)).to_have_text("Cordoned", timeout=SLOW_MS)
        assert who_patched(fleet, "member3") == [
            (WATCHER, PROGRAM, FORBIDDEN),
            (WARDEN, PROGRAM, OK),
        ]
        warden.get_by_role("button", name="Uncordon member3").click()
        dialog = warden.get_by_role("dialog", name="Uncordon member3")
        dialog.get_by_role("button", name="Uncordon member3").click()
        expect(state(watcher)).to_have_text("Ready", timeout=SLOW_MS)
        assert fleet.taints("member3") == set()

        fleet.kubectl("delete", "serviceaccount", "warden")
        watcher.get_by_role("link", name="Applications", exact=True).click()
        expect(row(watcher, "vault/Deployment/ledger")).to_be_visible(timeout=SLOW_MS)
        headline(warden, "Sign in to")
        warding.problems.clear()  # and of each 401
