"""The dashboard over real HTTP, beside a real API server with RBAC: who gets in, what is answered, what is refused."""

import asyncio
import gzip
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import ClientResponse, ClientSession, CookieJar, TCPConnector

from kubeapi.core import NAMESPACES
from kubeapi.loop.clock import SystemClock
from kubeapi.loop.randomness import Randomness
from kubeapi.meta import ObjectMeta
from kubeapi.resource import Resource
from kubeapi.status import Status
from kubeclient import AlreadyExists, ApiError, Client, Forbidden, NotFound, Unreachable
from kubeclient.connection import transport_of
from kubeclient.kubeconfig import load
from kubeserver.testing import RunningServer, running_server
from leeward.answers.fleet_state import FleetState
from leeward.api.resource import CLUSTERS, RESOURCE_BINDINGS
from leeward.api.schema import custom_resource_definitions
from leeward.app.local.ports import pick_port
from leeward.dashboard import context, signing_in, streaming
from leeward.dashboard.context import SESSION_HEADER, DashboardConfig
from leeward.dashboard.page_files import PageFile, read_page
from leeward.dashboard.pictures import MOST_WAITING, FleetPictures
from leeward.dashboard.running import Listening, served_dashboard
from leeward.dashboard.sessions import LinkKey
from leeward.operations import OperationFailed
from tests.builders import binding, cluster, divided, targets
from tests.transports import Sent

ACCOUNTS = Resource.of_manifests("v1", "serviceaccounts", "ServiceAccount", True)
RBAC = "rbac.authorization.k8s.io"
CLUSTER_ROLES = Resource.of_manifests(f"{RBAC}/v1", "clusterroles", "ClusterRole", False)
CLUSTER_ROLE_BINDINGS = Resource.of_manifests(f"{RBAC}/v1", "clusterrolebindings", "ClusterRoleBinding", False)
ROLES = Resource.of_manifests(f"{RBAC}/v1", "roles", "Role", True)
ROLE_BINDINGS = Resource.of_manifests(f"{RBAC}/v1", "rolebindings", "RoleBinding", True)
KEY = "the-key-of-the-link"
HOSTILE = "<script>alert('x')</script>"
OF_AN_OUTAGE = ("/api/outages/x", "/api/outages/x/report")


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Generator[RunningServer]:
    """One control plane for all stories: a cluster, and an application in each of two namespaces."""
    with running_server(tmp_path_factory.mktemp("plane"), custom_resource_definitions()) as running:
        asyncio.run(_filled(running))
        yield running


async def _filled(running: RunningServer) -> None:
    client = Client(transport_of(load(running.kubeconfig)))
    await client.create(CLUSTERS, cluster("member1"))
    for namespace in ("open", "closed"):
        await client.create(NAMESPACES, {"metadata": {"name": namespace}})
        metadata = ObjectMeta(name="nginx-deployment", namespace=namespace, labels={"x": "y"})
        placed = binding(divided({"member1": 1}), 2, targets(member1=2))
        await client.create(RESOURCE_BINDINGS, _replaced(placed, metadata), namespace)
    await client.create(ACCOUNTS, {"metadata": {"name": "jo"}}, "open")
    rule = {"apiGroups": ["work.karmada.io"], "resources": ["resourcebindings"], "verbs": ["get", "list"]}
    await client.create(ROLES, {"metadata": {"name": "jo"}, "rules": [rule]}, "open")
    subject = {"kind": "ServiceAccount", "name": "jo", "namespace": "open"}
    role = {"apiGroup": RBAC, "kind": "Role", "name": "jo"}
    await client.create(ROLE_BINDINGS, {"metadata": {"name": "jo"}, "roleRef": role, "subjects": [subject]}, "open")
    await client.close()


def _replaced(placed: Any, metadata: ObjectMeta) -> Any:
    resource = msgspec.structs.replace(placed.spec.resource, namespace=metadata.namespace)
    return msgspec.structs.replace(
        placed, metadata=metadata, spec=msgspec.structs.replace(placed.spec, resource=resource)
    )


async def token_of(running: RunningServer, account: str) -> str:
    client = Client(transport_of(load(running.kubeconfig)))
    path = f"/api/v1/namespaces/open/serviceaccounts/{account}/token"
    answer = await client.raw(
        "POST", path, body=b'{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{}}'
    )
    await client.close()
    return json.loads(answer.body)["status"]["token"]


@dataclass
class Browser:
    """One browser: the secret of its page, and the address of the dashboard."""

    http: ClientSession
    base: str
    session: str = ""
    links: list[str] = field(default_factory=list[str])
    """Keys of the links that came after the first."""

    @property
    def headers(self) -> dict[str, str]:
        return {SESSION_HEADER: self.session} if self.session else {}

    async def get(self, path: str, **headers: str) -> ClientResponse:
        return await self.http.get(self.base + path, headers={**self.headers, **headers}, allow_redirects=False)

    async def post(self, path: str, body: object = None, **headers: str) -> ClientResponse:
        return await self.http.post(self.base + path, json=body or {}, headers={**self.headers, **headers})

    async def signs_out(self) -> ClientResponse:
        return await self.http.delete(f"{self.base}/api/session", headers=self.headers)

    async def json(self, path: str) -> Any:
        answer = await self.get(path)
        assert answer.status == 200, await answer.text()
        return await answer.json()

    async def signs_in(self, **body: str) -> Any:
        answer = await self.post("/api/session", body)
        told = await answer.json()
        self.session = told.get("session", "")
        return told

    async def first_event(self, **headers: str) -> Any:
        """The data of the first frame of the stream."""
        async with self.http.get(f"{self.base}/api/events", headers={**self.headers, **headers}) as answer:
            assert answer.status == 200
            assert answer.headers["Content-Type"] == "text/event-stream"
            async for line in answer.content:
                if line.startswith(b"data: "):
                    return json.loads(line[6:])
        return None

    async def told_of_cluster(self, name: str) -> Any:
        """Reads one stream until it tells of the cluster."""
        async with self.http.get(f"{self.base}/api/events", headers=self.headers) as answer:
            async for line in answer.content:
                if line.startswith(b"data: "):
                    data = json.loads(line[6:])
                    told = data.get("collections", data.get("set", {}))
                    if name in told.get("clusters", {}):
                        return told["clusters"][name]
        raise AssertionError(f"the stream has ended without {name}")

    async def applications_are(self, keys: set[str]) -> None:
        """Opens the stream anew until it begins with these: a scope that was not known yet ends it."""
        for _ in range(500):
            data = await self.first_event()
            if data is not None and set(data["collections"]["applications"]) == keys:
                return
            await asyncio.sleep(0.1)
        raise AssertionError(f"the applications have not become {keys}")


@asynccontextmanager
async def dashboard(
    running: RunningServer, *, allow_actions: bool = False, page: dict[str, PageFile] | None = None, key: str = KEY
) -> AsyncGenerator[Browser]:
    port, links = pick_port(Randomness()), list[str]()
    config = DashboardConfig(
        name="plane",
        connection=load(running.kubeconfig),
        key=LinkKey(key, Randomness(), links.append) if key else None,
        allowed_hosts=("fleet.example",),
        allow_actions=allow_actions,
    )
    where = Listening("127.0.0.1", port)
    async with (
        served_dashboard(config, where, page or {}, SystemClock(), Randomness()) as bound,
        ClientSession(cookie_jar=CookieJar(unsafe=True), read_bufsize=2**20) as http,
    ):
        assert bound == port
        yield Browser(http, f"http://127.0.0.1:{port}", links=links)


def tell(running: RunningServer, story: Callable[[Browser], Awaitable[None]], **options: Any) -> None:
    async def run() -> None:
        async with asyncio.timeout(60), dashboard(running, **options) as browser:
            await story(browser)

    asyncio.run(run())


def test_without_a_session_nothing_is_told(plane: RunningServer) -> None:
    async def story(browser: Browser) -> None:
        assert await browser.json("/api/session") == {
            "signedIn": False,
            "controlPlane": "plane",
            "byLink": True,
            "user": "",
            "session": "",
            "actionsAllowed": False,
            "actions": {},
            "missing": [],
        }
        for path in ("/api/events", "/api/what-if", "/api/resilience", "/api/lint", *OF_AN_OUTAGE, "/api/x"):
            answer = await browser.get(path)
            assert answer.status == (404 if path == "/api/x" else 401), path
            assert set(await answer.json()) == {"error"}
        assert (await browser.post("/api/actions/cordon", {"cluster": "member1"})).status == 401

    tell(plane, story)


def test_the_link_signs_in_as_the_dashboards_own_identity_and_no_other_link_does(plane: RunningServer) -> None:
    async def story(browser: Browser) -> None:
        for wrong in ("x", f"{KEY}x", "ä"):
            assert "this link is used, or not of this dashboard" in (await browser.signs_in(key=wrong))["error"]
        answer = await browser.post("/api/session", {"key": KEY})
        assert answer.status == 200
        assert "Set-Cookie" not in answer.headers, "browsers send a cookie to every port of this host"
        browser.session = (await answer.json())["session"]
        told = await browser.json("/api/session")
        assert (told["signedIn"], told["user"], told["missing"], told["session"]) == (True, "admin", [], "")
        data = await browser.first_event()
        assert set(data["collections"]["applications"]) == {"open/Deployment/nginx", "closed/Deployment/nginx"}
        assert set(data["collections"]["clusters"]) == {"member1"}

    tell(plane, story)


def test_a_link_is_good_once_and_of_many_at_once_for_one(plane: RunningServer) -> None:
    async def story(browser: Browser) -> None:
        answers = await asyncio.gather(*(browser.post("/api/session", {"key": KEY}) for _ in range(6)))
        assert sorted(each.status for each in answers) == [200, 401, 401, 401, 401, 401]
        (following,) = browser.links
        assert (await browser.post("/api/session", {"key": KEY})).status == 401
        assert (await browser.signs_in(key=following))["user"] == "admin"
        assert len({KEY, *browser.links}) == 3

    tell(plane, story)


def test_a_dashboard_without_a_link_has_none(plane: RunningServer) -> None:
    async def story(browser: Browser) -> None:
        assert (await browser.signs_in(key=""))["error"].startswith("the token is empty")
        assert (await browser.post("/api/session", {"key": KEY})).status == 401

    tell(plane, story, key="")


def test_a_link_that_could_not_sign_in_yet_stays_good(plane: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(*_: object) -> str:
        raise Unreachable("no answer in time")

    async def story(browser: Browser) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(signing_in, "name_of_user", refuse)
            answer = await browser.post("/api/session", {"key": KEY})
            assert (answer.status, (await answer.json())["error"]) == (
                502,
                "the control plane does not answer: no answer in time",
            )
        assert (await browser.signs_in(key=KEY))["user"] == "admin"

    tell(plane, story)


def test_a_link_signs_in_though_rights_cannot_be_looked_at_yet(
    plane: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: object) -> None:
        raise Unreachable("no answer in time")

    async def story(browser: Browser) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(context, "review_sight", refuse)
            told = await browser.signs_in(key=KEY)
            assert (told["signedIn"], told["actionsAllowed"]) == (True, False)
        assert (await browser.json("/api/session"))["user"] == "admin"

    tell(plane, story)


def test_who_signs_in_waits_and_the_queues_of_addresses_take_turns(
    plane: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, others = asyncio.Event(), list[str]()

    async def slow(client: Client) -> str:
        await asked.wait()
        return f"user-{id(client)}"

    monkeypatch.setattr(signing_in, "name_of_user", slow)

    async def signs_in(browser: Browser, address: str, token: str) -> None:
        async with ClientSession(connector=TCPConnector(local_addr=(address, 0))) as http:
            answer = await http.post(f"{browser.base}/api/session", json={"token": token})
            assert answer.status == 200
            others.append(address)

    async def story(browser: Browser) -> None:
        token = await token_of(plane, "jo")
        tasks = [asyncio.create_task(signs_in(browser, "127.0.0.1", token)) for _ in range(40)]
        await asyncio.sleep(0.5)
        tasks.append(asyncio.create_task(signs_in(browser, "127.0.0.2", token)))
        await asyncio.sleep(0.5)
        asked.set()
        await asyncio.gather(*tasks)
        assert others.index("127.0.0.2") < 12, "one of another address does not wait for forty of the first"

    tell(plane, story)


def test_a_token_opens_what_its_user_may_see_and_nothing_else(plane: RunningServer) -> None:
    async def story(browser: Browser) -> None:
        token = await token_of(plane, "jo")
        told = await browser.signs_in(token=token)
        assert told["user"] == "system:serviceaccount:open:jo"
        assert token not in json.dumps(told)
        await browser.applications_are({"open/Deployment/nginx"})
        data = await browser.first_event()
        assert data["collections"]["clusters"] == {}
        assert "closed" not in json.dumps(data)
        assert (await browser.get("/api/applications/open/Deployment/nginx")).status == 200
        refused = await browser.get("/api/applications/closed/Deployment/nginx")
        assert refused.status == 403
        assert (
            "may not list resourcebindings.work.karmada.io in the namespace closed" in (await refused.json())["error"]
        )
        for path in ("/api/what-if?fail=member1", "/api/resilience", "/api/lint", *OF_AN_OUTAGE):
            assert (await browser.get(path)).status in (400, 403), path

    tell(plane, story)


@pytest.mark.parametrize("refusal", [Forbidden, NotFound])
@pytest.mark.parametrize("is_reviewed", [True, False])
def test_who_is_not_told_their_name_signs_in_all_the_same(
    plane: RunningServer, refusal: type[ApiError], is_reviewed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Servers before Kubernetes 1.28 have no SelfSubjectReview: they refuse who has few rights; others find no kind."""

    async def refuse(*_: object) -> str:
        raise refusal(Status(message="no selfsubjectreviews"))

    monkeypatch.setattr(signing_in, "name_of_user", refuse)
    if not is_reviewed:
        monkeypatch.setattr(signing_in, "name_of_token", refuse)

    async def story(browser: Browser) -> None:
        told = await browser.signs_in(token=await token_of(plane, "jo"))
        assert told["user"] == ("system:serviceaccount:open:jo" if is_reviewed else signing_in.UNNAMED)
        await browser.applications_are({"open/Deployment/nginx"})
        assert (await browser.post("/api/session", {"token": "nonsense"})).status == 401

    tell(plane, story)


@pytest.mark.parametrize("token", ["nonsense", "", "two words", "line\nend", "x" * 20_000, "ä"])
def test_what_is_no_token_opens_nothing(plane: RunningServer, token: str) -> None:
    async def story(browser: Browser) -> None:
        answer = await browser.post("/api/session", {"token": token})
        assert answer.status == (401 if token == "nonsense" else 400)
        assert "session" not in await answer.json()
        assert token == "" or token not in await answer.text()

    tell(plane, story)


def test_signing_out_ends_the_session_and_its_stream(plane: RunningServer) -> None:
    async def story(browser: Browser) -> None:
        await browser.signs_in(key=KEY)
        assert (await browser.http.delete(f"{browser.base}/api/session")).status == 401
        async with browser.http.get(f"{browser.base}/api/events", headers=browser.headers) as stream:
            assert await stream.content.readline()
            ended = await browser.signs_out()
            assert (ended.status, (await ended.json())["signedIn"]) == (200, False)
            await stream.content.read()
        assert (await browser.get("/api/events")).status == 401

    tell(plane, story)


@pytest.mark.parametrize("coding", ["gzip", "identity"])
def test_a_stream_is_compressed_for_whoever_takes_that_and_ends_as_one(plane: RunningServer, coding: str) -> None:
    async def story(browser: Browser) -> None:
        await browser.signs_in(key=KEY)
        asked = {**browser.headers, "Accept-Encoding": coding}
        async with browser.http.get(f"{browser.base}/api/events", headers=asked, auto_decompress=False) as stream:
            assert stream.headers.get("Content-Encoding", "identity") == coding
            first = await stream.content.readany()
            ended = await browser.signs_out()
            assert ended.status == 200
            data = first + await stream.content.read()
        text = gzip.decompress(data) if coding == "gzip" else data
        assert text.startswith(b"retry: 1000\n\n")

    tell(plane, story)


def test_what_changes_something_needs_the_sessions_header_and_comes_from_no_other_site(plane: RunningServer) -> None:
    async def story(browser: Browser) -> None:
        await browser.signs_in(key=KEY)
        body = {"cluster": "member1"}
        cookie = {"Cookie": f"leeward={browser.session}; {SESSION_HEADER}={browser.session}"}
        unsigned = await browser.http.post(f"{browser.base}/api/actions/cordon", json=body, headers=cookie)
        assert unsigned.status == 401, "a cookie is no session: browsers send it of their own"
        refusals = [
            (await browser.post("/api/actions/cordon", body, Origin="https://evil.example"), "another origin"),
            (await browser.post("/api/actions/cordon", body, **{"Sec-Fetch-Site": "cross-site"}), "another site"),
        ]
        for answer, problem in refusals:
            assert answer.status == 403
            assert problem in await answer.text()
        form = await browser.http.post(f"{browser.base}/api/actions/cordon", data={"cluster": "member1"})
        assert (form.status, "application/json" in await form.text()) == (403, True)
        allowed = await browser.post("/api/actions/cordon?dry-run", body, Origin=browser.base)
        assert allowed.status == 200

    tell(plane, story, allow_actions=True)


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("evil.example", 421),
        ("evil.example:80", 421),
        ("localhost.evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("", 421),
        ("fleet.example", 200),
        ("FLEET.example:8733", 200),
        ("localhost:1", 200),
        ("[::1]:8733", 200),
        ("10.0.0.1", 200),
    ],
)
def test_only_our_hosts_are_answered_for(plane: RunningServer, host: str, status: int) -> None:
    async def story(browser: Browser) -> None:
        assert (await browser.get("/api/session", Host=host)).status == status

    tell(plane, story)


def test_every_answer_has_the_headers_that_keep_others_out(plane: RunningServer) -> None:
    async def story(browser: Browser) -> None:
        page = await browser.get("/")
        refused = await browser.get("/api/session", Host="evil.example")
        unknown = await browser.get("/api/nothing")
        stream = await browser.get("/api/events")
        for answer in (page, refused, unknown, stream):
            policy = answer.headers["Content-Security-Policy"]
            assert "default-src 'none'" in policy
            assert "frame-ancestors 'none'" in policy
            assert "unsafe" not in policy
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert answer.headers["Referrer-Policy"] == "no-referrer"
            assert "Server" not in answer.headers

    tell(plane, story)


def test_the_page_is_served_with_its_states_and_nothing_beside_it(plane: RunningServer, tmp_path: Path) -> None:
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text("<!doctype html>the page")
    (tmp_path / "assets/page-1a2b.js").write_text("go()")
    (tmp_path / "assets/secret.key").write_text("no")

    async def story(browser: Browser) -> None:
        for path in ("/", "/applications?state=Held", "/applications/shop/Deployment/cart"):
            answer = await browser.get(path)
            assert (answer.status, await answer.text()) == (200, "<!doctype html>the page")
            assert answer.headers["Cache-Control"] == "no-cache"
        script = await browser.get("/assets/page-1a2b.js")
        assert (script.headers["Content-Type"], await script.text()) == ("text/javascript; charset=utf-8", "go()")
        assert "immutable" in script.headers["Cache-Control"]
        for path in ("/assets/secret.key", "/assets/%2e%2e/%2e%2e/pyproject.toml", "/favicon.ico"):
            assert (await browser.get(path)).status == 404, path

    tell(plane, story, page=read_page(tmp_path))


def test_without_a_built_page_it_says_how_to_get_one(plane: RunningServer, tmp_path: Path) -> None:
    async def story(browser: Browser) -> None:
        answer = await browser.get("/")
        assert answer.status == 503
        assert "`make page`" in await answer.text()

    tell(plane, story, page=dict(read_page(tmp_path)))


def test_actions_are_off_unless_allowed(plane: RunningServer) -> None:
    async def story(browser: Browser) -> None:
        told = await browser.signs_in(key=KEY)
        assert set(told["actions"].values()) == {"the dashboard was started without --allow-actions"}
        answer = await browser.post("/api/actions/cordon", {"cluster": "member1"})
        assert answer.status == 403
        assert "--allow-actions" in (await answer.json())["error"]

    tell(plane, story)


def test_an_action_is_told_first_and_done_as_the_user(plane: RunningServer) -> None:
    async def taints() -> list[str]:
        client = Client(transport_of(load(plane.kubeconfig)))
        found = await client.get(CLUSTERS, "member1")
        await client.close()
        return [taint.key for taint in found.spec.taints]

    async def story(browser: Browser) -> None:
        jo = await browser.signs_in(token=await token_of(plane, "jo"))
        assert "jo may not patch clusters.cluster.karmada.io" in jo["actions"]["cordon"]
        refused = await browser.post("/api/actions/cordon", {"cluster": "member1"})
        assert (refused.status, await taints()) == (403, [])

        admin = await browser.signs_in(key=KEY)
        assert admin["actions"]["cordon"] == ""
        told = await (await browser.post("/api/actions/drain?dry-run", {"cluster": "member1"})).json()
        assert (told["done"], await taints()) == (False, [])
        assert told["whatIf"]["command"] == "leeward what-if --drain member1"
        assert told["whatIf"]["answer"]["drained"] == ["member1"]
        done = await (await browser.post("/api/actions/cordon", {"cluster": "member1"})).json()
        assert (done["done"], done["sentence"]) == (True, "member1 is cordoned")
        assert len(await taints()) == 1
        undone = await (await browser.post("/api/actions/uncordon", {"cluster": "member1"})).json()
        assert (undone["sentence"], await taints()) == ("member1 is uncordoned", [])
        made = await browser.post("/api/actions/rebalance", {"workload": "Deployment/nginx", "namespace": "open"})
        assert "is scheduled afresh, once (WorkloadRebalancer leeward-rebalance-" in (await made.json())["sentence"]
        idle = await (await browser.post("/api/actions/brake-release", {})).json()
        assert idle["sentence"] == "the brake is not engaged"

    tell(plane, story, allow_actions=True)


async def _may_act(running: RunningServer, name: str, *rules: tuple[str, str, str]) -> None:
    """Makes a service account that sees the applications of `open`, and has `rules` (group, kind, verb) everywhere."""
    client = Client(transport_of(load(running.kubeconfig)))
    subject = {"kind": "ServiceAccount", "name": name, "namespace": "open"}
    await client.create(ACCOUNTS, {"metadata": {"name": name}}, "open")
    jo = {"apiGroup": RBAC, "kind": "Role", "name": "jo"}
    await client.create(ROLE_BINDINGS, {"metadata": {"name": name}, "roleRef": jo, "subjects": [subject]}, "open")
    allowed = [{"apiGroups": [group], "resources": [kind], "verbs": [verb]} for group, kind, verb in rules]
    await client.create(CLUSTER_ROLES, {"metadata": {"name": name}, "rules": allowed})
    role = {"apiGroup": RBAC, "kind": "ClusterRole", "name": name}
    await client.create(CLUSTER_ROLE_BINDINGS, {"metadata": {"name": name}, "roleRef": role, "subjects": [subject]})
    await client.close()


def test_what_an_action_would_do_is_told_to_nobody_who_may_not_do_it(plane: RunningServer) -> None:
    async def story(browser: Browser) -> None:
        await browser.signs_in(token=await token_of(plane, "jo"))
        for action, right in (
            ("cordon", "patch clusters.cluster.karmada.io"),
            ("drain", "patch clusters.cluster.karmada.io"),
            ("brake-release", "patch configmaps leeward-brake in the namespace karmada-system"),
            ("rebalance", "create workloadrebalancers.apps.karmada.io"),
        ):
            body = {"cluster": "member1", "workload": "Deployment/nginx", "namespace": "open"}
            answer = await browser.post(f"/api/actions/{action}?dry-run", body)
            assert (answer.status, set(told := await answer.json())) == (403, {"error"}), action
            assert told["error"] == f"system:serviceaccount:open:jo may not {right}"

    tell(plane, story, allow_actions=True)


def test_what_an_action_would_do_tells_no_more_than_the_what_if_that_is_asked(plane: RunningServer) -> None:
    async def story(browser: Browser) -> None:
        patched, created = ("", "configmaps", "patch"), ("apps.karmada.io", "workloadrebalancers", "create")
        await _may_act(plane, "blind", patched, created)
        await browser.signs_in(token=await token_of(plane, "blind"))
        await browser.applications_are({"open/Deployment/nginx"})
        asked = await browser.get("/api/what-if?fail=member1")
        body = {"workload": "Deployment/nginx", "namespace": "open"}
        for action, given in (("brake-release", {}), ("rebalance", body)):
            answer = await browser.post(f"/api/actions/{action}?dry-run", given)
            assert (answer.status, await answer.json()) == (asked.status, await asked.json()), action
        assert asked.status == 400

    tell(plane, story, allow_actions=True)


def test_of_a_hidden_namespace_a_rebalance_does_not_tell_which_applications_there_are(
    plane: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user is the first to look: which namespaces there are is not known yet, and is asked again at once."""
    monkeypatch.setattr(context, "SIGHT_SECONDS", 3600)

    async def story(browser: Browser) -> None:
        created = ("apps.karmada.io", "workloadrebalancers", "create")
        await _may_act(plane, "planner", created, ("cluster.karmada.io", "clusters", "list"))
        await browser.signs_in(token=await token_of(plane, "planner"))
        await browser.applications_are({"open/Deployment/nginx"})
        told = list[tuple[int, str]]()
        for name, namespace in (("nginx", "closed"), ("gone", "closed"), ("nginx", "open")):
            body = {"workload": f"Deployment/{name}", "namespace": namespace}
            answer = await browser.post("/api/actions/rebalance?dry-run", body)
            told.append((answer.status, (await answer.json()).get("error", "")))
        may_not = "may not list resourcebindings.work.karmada.io in the namespace closed"
        assert told[0] == told[1] == (403, f"system:serviceaccount:open:planner {may_not}")
        assert told[2] == (200, "")

    tell(plane, story, allow_actions=True)


def test_an_action_is_not_foretold_of_a_picture_that_is_not_complete(
    plane: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = FleetPictures.whole

    async def without_works(pictures: FleetPictures) -> FleetState:
        recorded = (await whole(pictures)).recorded
        return FleetState(msgspec.structs.replace(recorded, unseen=("works of member1",)))

    monkeypatch.setattr(FleetPictures, "whole", without_works)

    async def story(browser: Browser) -> None:
        await browser.signs_in(key=KEY)
        for action, body in (("brake-release", {}), ("drain", {"cluster": "member1"})):
            answer = await browser.post(f"/api/actions/{action}?dry-run", body)
            sentence = "no answer, since one without it could be wrong: works of member1"
            assert (answer.status, await answer.json()) == (400, {"error": sentence}), action

    tell(plane, story, allow_actions=True)


@pytest.mark.parametrize(
    ("action", "body", "status", "problem"),
    [
        ("explode", {}, 404, "there are cordon, uncordon"),
        ("cordon", {}, 400, "give the name of the cluster"),
        ("cordon", {"cluster": "nowhere"}, 400, "there is no cluster 'nowhere': choose from member1"),
        ("cordon", {"cluser": "member1"}, 400, "cluser"),
        ("cordon", {"cluster": 1}, 400, "$.cluster"),
        ("drain", {"cluster": "member1", "budget": -1}, 400, "give 0 (all at once)"),
        ("rebalance", {"workload": "nginx"}, 400, "KIND/NAME"),
        (
            "rebalance",
            {"workload": "Deployment/gone", "namespace": "open"},
            400,
            "there is no binding open/gone-deployment",
        ),
    ],
)
def test_an_action_that_is_asked_wrongly_names_the_way_out(
    plane: RunningServer, action: str, body: dict[str, object], status: int, problem: str
) -> None:
    async def story(browser: Browser) -> None:
        await browser.signs_in(key=KEY)
        answer = await browser.post(f"/api/actions/{action}", body)
        assert (answer.status, problem in (await answer.json())["error"]) == (status, True)

    tell(plane, story, allow_actions=True)


def test_what_others_have_named_is_data(plane: RunningServer) -> None:
    """Nothing of it reaches a browser as anything but JSON or plain text."""

    async def story(browser: Browser) -> None:
        await browser.signs_in(key=KEY)
        for path in (
            f"/api/outages/{HOSTILE}",
            f"/api/outages/{HOSTILE}/report",
            f"/api/applications/{HOSTILE}/x/y",
            f"/api/what-if?fail={HOSTILE}",
            f"/{HOSTILE}",
        ):
            answer = await browser.get(path)
            assert answer.content_type in ("application/json", "text/plain"), path
        client = Client(transport_of(load(plane.kubeconfig)))
        with suppress(AlreadyExists):
            await client.create(CLUSTERS, cluster("hostile", region=HOSTILE))
        await client.close()
        assert (await browser.told_of_cluster("hostile"))["region"] == HOSTILE

    tell(plane, story)


def test_a_right_that_is_taken_away_ends_the_stream_and_what_it_showed(
    plane: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context, "SIGHT_SECONDS", 0.2)
    monkeypatch.setattr(streaming, "HEARTBEAT_SECONDS", 0.1)

    async def story(browser: Browser) -> None:
        client = Client(transport_of(load(plane.kubeconfig)))
        kept = await client.get(ROLE_BINDINGS, "jo", "open")
        await browser.signs_in(token=await token_of(plane, "jo"))
        await browser.applications_are({"open/Deployment/nginx"})
        async with browser.http.get(f"{browser.base}/api/events") as stream:
            await stream.content.readline()
            await client.delete(ROLE_BINDINGS, "jo", "open")
            await stream.content.read()
        await browser.applications_are(set())
        again = {name: kept[name] for name in ("roleRef", "subjects")}
        await client.create(ROLE_BINDINGS, {"metadata": {"name": "jo"}, **again}, "open")
        await client.close()

    tell(plane, story)


def test_the_streams_of_one_user_leave_room_for_others_and_those_of_all_for_the_dashboards_own(
    plane: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "MOST_STREAMS_OF_ONE", 2)
    monkeypatch.setattr(streaming, "MOST_STREAMS", 5)

    pages = list[ClientResponse]()

    async def opened(browser: Browser) -> list[int]:
        answers = [await browser.get("/api/events") for _ in range(3)]
        pages.extend(answers)
        return [answer.status for answer in answers]

    async def story(browser: Browser) -> None:
        for name in ("mo", "al"):
            await _may_act(plane, name)
        told = dict[str, list[int]]()
        for name in ("jo", "mo", "al"):
            await browser.signs_in(token=await token_of(plane, name))
            told[name] = await opened(browser)
        assert told == {"jo": [200, 200, 429], "mo": [200, 429, 429], "al": [429, 429, 429]}
        await browser.signs_in(key=KEY)
        assert await opened(browser) == [200, 200, 429]
        refused = await (await browser.get("/api/events")).json()
        assert refused == {"error": "2 pages are open of admin: close some"}
        for page in pages:
            page.close()

    tell(plane, story)


def test_who_asks_too_much_at_once_is_told_so() -> None:
    async def story() -> None:
        pictures = FleetPictures(Client(Sent()), SystemClock(), "plane")
        asked = [asyncio.ensure_future(pictures.work_out(lambda: 1)) for _ in range(MOST_WAITING + 1)]
        answers = await asyncio.gather(*asked, return_exceptions=True)
        assert answers[:-1] == [1] * MOST_WAITING
        assert isinstance(answers[-1], OperationFailed)
        assert await pictures.work_out(lambda: 2) == 2

    asyncio.run(story())


def test_a_url_that_is_too_long_is_one_sentence_in_the_log(
    plane: RunningServer, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(browser: Browser) -> None:
        assert (await browser.get(f"/api/{'x' * 9_000}")).status == 400

    tell(plane, story)
    (record,) = (each for each in caplog.records if each.name == "aiohttp.server")
    assert record.getMessage() == "Error handling request from 127.0.0.1: its URL or a header is too long"
    assert record.exc_info is None
    assert "xxxx" not in caplog.text
