"""Views of a fleet in an outage, as the dashboard's server sends them; `python -m tests.recorded_views` writes them.

The page's types are checked against these files, and a test renders them anew: so neither side can drift. The fleet is
simulated: five clusters in three regions, one of which has been down for eleven minutes.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aiohttp.test_utils import make_mocked_request
from aiohttp.web import RouteDef

from kubeapi.loop.supervisor import Supervisor
from kubeapi.meta import Manifest
from kubeclient.connection import Connection
from leeward.api.resource import CLUSTERS
from leeward.dashboard.answering import Answering
from leeward.dashboard.asked_as_user import AskedAsUser
from leeward.dashboard.context import SESSION_HEADER, DashboardConfig, DashboardContext
from leeward.dashboard.following import FleetFollower
from leeward.dashboard.pictures import FleetPictures
from leeward.dashboard.sessions import LinkKey, Session, SessionStore
from leeward.dashboard.signing_in import SigningIn
from leeward.sim.world import Mode, World
from tests.world.stories import apply, by_weight, deployment, play, policy

FOLDER = Path(__file__).parents[1] / "web/tests/recorded"
MEMBERS: Mapping[str, Mode] = {"fra-1": "Push", "fra-2": "Push", "ams-1": "Push", "iad-1": "Push", "syd-1": "Pull"}
REGIONS = {"fra-1": "eu", "fra-2": "eu", "ams-1": "eu", "iad-1": "us", "syd-1": "ap"}
TAINTS = ("cluster.karmada.io/not-ready", "cluster.karmada.io/unreachable")
QUESTIONS: Mapping[str, tuple[str, str, Mapping[str, str]]] = {
    "application": (
        "/api/applications/{namespace}/{kind}/{name}",
        "/api/applications/default/Deployment/ledger",
        {"namespace": "default", "kind": "Deployment", "name": "ledger"},
    ),
    "what-if": ("/api/what-if", "/api/what-if?fail=iad-1&recover-after=1800", {}),
    "resilience": ("/api/resilience", "/api/resilience", {}),
    "lint": ("/api/lint", "/api/lint", {}),
    "manifests": (
        "/api/manifests/{namespace}/{kind}/{name}",
        "/api/manifests/default/Deployment/ledger",
        {"namespace": "default", "kind": "Deployment", "name": "ledger"},
    ),
    "labelled": ("/api/labelled", "/api/labelled?selector=app%3Dledger", {}),
    "session": ("/api/session", "/api/session", {}),
}
"""Questions by the name of the file: route, what is asked, and what the route finds in it."""


def tolerating(seconds: int) -> list[Manifest]:
    return [{"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds} for key in TAINTS]


def recorded() -> dict[str, Any]:
    """The views by the name of their file."""
    views: dict[str, Any] = {}

    async def story(world: World) -> None:
        await _fleet(world)
        async with Supervisor("page") as supervisor:
            context = context_of(world, supervisor)
            session = await context.sessions.begin("operator", world.client, is_own=True)
            _, _, leave = context.follower.open(session.sight, "")
            await world.member("fra-2").stop()
            await world.until(lambda: "fra-2" not in world.assigned("shop-deployment"), 1800)
            await world.sleep(75)
            views.update(await _views(context, session))
            leave()

    play(story, MEMBERS)
    return views


async def _fleet(world: World) -> None:
    """One application of each fate: moved, due, held, kept; and one that has nothing to do with it."""
    for name, region in REGIONS.items():
        place = {"region": region, "zones": [f"{name[:-2]}-{name[-1]}"], "provider": "example"}
        await world.client.patch(CLUSTERS, name, {"spec": place})
    moved = {**by_weight({"fra-1": 1, "fra-2": 2}), "clusterTolerations": tolerating(60)}
    due = {**by_weight({"fra-2": 1, "iad-1": 1}), "clusterTolerations": tolerating(900)}
    kept = {"clusterAffinity": {"clusterNames": list(MEMBERS)}, "clusterTolerations": tolerating(60)}
    held = {**by_weight({"fra-2": 1}), "clusterTolerations": tolerating(60)}
    for name, placement in {"shop": moved, "reports": due, "collector": kept, "ledger": held}.items():
        await apply(world.client, deployment(name, 3), policy(name, placement))
    await apply(world.client, deployment("search", 4), policy("search", by_weight({"iad-1": 1, "syd-1": 1})))
    await world.until(lambda: bool(world.assigned("search-deployment")), 60)
    await world.sleep(90)


def context_of(world: World, supervisor: Supervisor) -> DashboardContext:
    config = DashboardConfig(
        name="prod-hub",
        connection=Connection("https://hub.example"),
        key=LinkKey("k", world.randomness, lambda _: None),
        allow_actions=True,
    )
    follower = FleetFollower(world.client, world.clock, world.randomness, supervisor, config.name)
    sessions = SessionStore(world.clock, world.randomness)
    return DashboardContext(config, world.clock, world.client, supervisor, follower, sessions)


async def _views(context: DashboardContext, session: Session) -> dict[str, Any]:
    await context.look_at_rights(session)
    reader, _, leave = context.follower.open(session.sight, "")
    frame = await reader.next(30)
    assert frame is not None
    leave()
    reset = json.loads(frame.plain.split(b"data: ", 1)[1])
    (outage,) = reset["collections"]["outages"]
    pictures = FleetPictures(context.client, context.clock, context.config.name)
    parts = (Answering(context, pictures), AskedAsUser(context), SigningIn(context))
    routes = [route for part in parts for route in part.routes()]
    questions = {
        **QUESTIONS,
        "outage": ("/api/outages/{name}", f"/api/outages/{outage}", {"name": outage}),
        "report": ("/api/outages/{name}/report", f"/api/outages/{outage}/report", {"name": outage}),
    }
    views = {name: await _asked(context, session, routes, *question) for name, question in questions.items()}
    for each in views["manifests"]["manifests"]:
        each["yaml"] = each["yaml"].partition("metadata:")[0]  # the rest is another one with each write of a controller
    return {"feed": reset, **views}


async def _asked(
    context: DashboardContext,
    session: Session,
    routes: list[RouteDef],
    path: str,
    asked: str,
    found: Mapping[str, str],
) -> Any:
    (route,) = (route for route in routes if (route.method, route.path) == ("GET", path))
    headers = {SESSION_HEADER: session.id}
    answer: Any = await route.handler(make_mocked_request("GET", asked, headers, match_info=dict(found)))  # pyright: ignore
    assert answer.status == 200, answer.text
    return json.loads(answer.body)


def written(view: Any) -> str:
    return json.dumps(view, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, view in recorded().items():
        (FOLDER / f"{name}.json").write_text(written(view))
