"""Actions of an operator, as the user who has signed in: each with what it would do, told before it is done.

    POST /api/actions/cordon          {"cluster": NAME}
    POST /api/actions/uncordon        {"cluster": NAME}: takes back a cordon and a drain
    POST /api/actions/drain           {"cluster": NAME, "budget": N}: so many move at the same time, 0 for all
    POST /api/actions/undo            {"cluster": NAME}: takes back a drain; a cordon stays
    POST /api/actions/brake-release   {}
    POST /api/actions/rebalance       {"workload": "Deployment/web", "namespace": NAMESPACE}

With `?dry-run` nothing is changed, and the answer says what would be, to who may do it and sees what it is about. The
control plane judges the rights: requests go out with the user's own credential.
"""

import logging
from collections.abc import Mapping
from enum import Enum

import msgspec
from aiohttp import web

from kubeapi import codec
from kubeclient import Client
from leeward.answers.fleet_state import BindingName, FleetState
from leeward.answers.imagined import ImaginedChange
from leeward.api.names import binding_name
from leeward.dashboard.answering import WhatIfView, complete_picture, refusal_to_show, what_if_view
from leeward.dashboard.context import DashboardContext, answered, failed
from leeward.dashboard.pictures import FleetPictures
from leeward.dashboard.rights import ACTION_RIGHTS, may
from leeward.dashboard.sessions import Session
from leeward.operations import OperationFailed
from leeward.operations.brake import release_brake
from leeward.operations.drain import start_cordon, start_drain, undo_cordon, undo_drain
from leeward.operations.rebalance import rebalance
from leeward.operations.taints import find_cluster

log = logging.getLogger(__name__)

MOST_AT_ONCE = 10_000


class OperatorAction(Enum):
    """Actions by their names in a path."""

    CORDON = "cordon"
    UNCORDON = "uncordon"
    DRAIN = "drain"
    UNDO = "undo"
    BRAKE_RELEASE = "brake-release"
    REBALANCE = "rebalance"


class ActionRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`workload` is KIND/NAME."""

    cluster: str = ""
    workload: str = ""
    namespace: str = ""
    budget: int | None = None


class ActionResult(msgspec.Struct, frozen=True, rename="camel"):
    """`what_if` is what the change itself would do; None for one that moves nothing by itself."""

    sentence: str
    done: bool
    what_if: WhatIfView | None = None


class Acting:
    def __init__(self, context: DashboardContext, pictures: FleetPictures) -> None:
        self._context = context
        self._pictures = pictures

    def routes(self) -> list[web.RouteDef]:
        return [web.post("/api/actions/{action}", self._context.signed_in(self._act))]

    async def _act(self, request: web.Request, session: Session) -> web.StreamResponse:
        """Raises: OperationFailed, WorldError."""
        if not self._context.config.allow_actions:
            return failed(403, "the dashboard was started without --allow-actions: nothing is changed from here")
        try:
            action = OperatorAction(request.match_info["action"])
        except ValueError:
            known = ", ".join(each.value for each in OperatorAction)
            return failed(404, f"there is no action {request.match_info['action']!r}; there are {known}")
        try:
            asked = codec.decode(await request.read() or b"{}", ActionRequest)
        except codec.DecodeError as error:
            return failed(400, f"the body: {error}")
        if problem := _problem(action, asked):
            return failed(400, problem)
        if "dry-run" in request.query:
            if refusal := await _refusal(action, asked, session):
                return failed(403, refusal)
            return answered(await self._foretold(action, asked, session))
        sentence = await _carried_out(action, asked, session.client)
        log.info("%s has asked for %s %s", session.user, action.value, asked)
        return answered(ActionResult(sentence, done=True))

    async def _foretold(self, action: OperatorAction, asked: ActionRequest, session: Session) -> ActionResult:
        """Result that it would have; nothing is changed. Raises: OperationFailed, WorldError."""
        if asked.cluster:
            await find_cluster(session.client, asked.cluster)
        sentence = _TOLD[action].format(cluster=asked.cluster, workload=asked.workload)
        if action in (OperatorAction.DRAIN, OperatorAction.BRAKE_RELEASE, OperatorAction.REBALANCE):
            state = await complete_picture(self._pictures, session)
            change = _imagined(action, asked, state)
            return ActionResult(
                sentence, done=False, what_if=await what_if_view(self._pictures, state, change, session.sight)
            )
        return ActionResult(sentence, done=False)


_TOLD: Mapping[OperatorAction, str] = {
    OperatorAction.CORDON: "nothing new is placed in {cluster}; what runs there stays",
    OperatorAction.UNCORDON: "{cluster} takes new copies again; a drain ends, and nothing returns by itself",
    OperatorAction.DRAIN: "everything that can leaves {cluster}, each copy when its replacement is healthy elsewhere",
    OperatorAction.UNDO: "the drain of {cluster} ends; a cordon stays, and nothing returns by itself",
    OperatorAction.BRAKE_RELEASE: "waiting evictions begin, although most of the fleet seems to be down",
    OperatorAction.REBALANCE: "{workload} is scheduled afresh, once",
}
_OF_A_CLUSTER = (OperatorAction.CORDON, OperatorAction.UNCORDON, OperatorAction.DRAIN, OperatorAction.UNDO)


def _problem(action: OperatorAction, asked: ActionRequest) -> str:
    """Problem with what is missing in it, or wrong; empty where nothing is."""
    if action in _OF_A_CLUSTER and not asked.cluster:
        return f"{action.value}: give the name of the cluster"
    kind, slash, name = asked.workload.partition("/")
    if action is OperatorAction.REBALANCE and not (kind and slash and name):
        return f"{action.value}: workload {asked.workload!r} is no KIND/NAME, such as Deployment/web"
    if asked.budget is not None and not 0 <= asked.budget <= MOST_AT_ONCE:
        return f"budget {asked.budget}: give 0 (all at once) to {MOST_AT_ONCE}"
    return ""


async def _refusal(action: OperatorAction, asked: ActionRequest, session: Session) -> str:
    """Reason for which a user is not told what it would do; empty where they are. Raises: WorldError."""
    right = ACTION_RIGHTS[action.value]
    if not await may(session.client, right):
        return f"{session.user} may not {right}"
    return refusal_to_show(asked.namespace, session) if action is OperatorAction.REBALANCE else ""


def _imagined(action: OperatorAction, asked: ActionRequest, state: FleetState) -> ImaginedChange:
    """Raises: OperationFailed."""
    if action is OperatorAction.DRAIN:
        return ImaginedChange(drained=frozenset({asked.cluster}))
    if action is OperatorAction.BRAKE_RELEASE:
        return ImaginedChange(releases_brake=True)
    key = BindingName(asked.namespace, _binding_of(asked))
    binding = state.bindings.get(key)
    if binding is None:
        raise OperationFailed(f"there is no binding {key}")
    spec = msgspec.structs.replace(binding.spec, reschedule_triggered_at=state.as_of)
    return ImaginedChange(bindings={key: msgspec.structs.replace(binding, spec=spec)})


async def _carried_out(action: OperatorAction, asked: ActionRequest, client: Client) -> str:
    """Carries out an action, and returns what has been done. Raises: OperationFailed, WorldError."""
    cluster = asked.cluster
    match action:
        case OperatorAction.CORDON:
            return (
                f"{cluster} is cordoned" if await start_cordon(client, cluster) else f"{cluster} was cordoned already"
            )
        case OperatorAction.UNCORDON:
            return f"{cluster} is uncordoned" if await undo_cordon(client, cluster) else f"{cluster} was not cordoned"
        case OperatorAction.DRAIN:
            await start_drain(client, cluster, asked.budget)
            return f"{cluster} is being drained"
        case OperatorAction.UNDO:
            undone = await undo_drain(client, cluster)
            return f"{cluster} is no longer drained" if undone else f"{cluster} was not being drained"
        case OperatorAction.BRAKE_RELEASE:
            before = (await release_brake(client)).brake
            is_released = before.engaged and not before.overruled
            return (
                "the brake is released, until the fleet looks well again" if is_released else "the brake is not engaged"
            )
        case OperatorAction.REBALANCE:
            name = await rebalance(client, _binding_of(asked), asked.namespace)
            return f"{asked.workload} is scheduled afresh, once (WorkloadRebalancer {name})"


def _binding_of(asked: ActionRequest) -> str:
    kind, _, name = asked.workload.partition("/")
    return binding_name(kind, name)
