"""Questions of one user, each answered by the function that answers the CLI, from what this user may see.

    GET /api/applications/NAMESPACE/KIND/NAME    explanation, dependencies, history; a namespace that is none is `-`
    GET /api/outages/NAME                        the outage as a story
    GET /api/outages/NAME/report                 the same as Markdown, for a post-mortem
    GET /api/what-if?fail=&drain=&recover-after= what would happen; parameters as those of `leeward what-if`
    GET /api/what-if?release                     what a release of the brake would do
    GET /api/resilience?by=                      which losses the rest can take over
    GET /api/lint                                why a failover would not fire, or not help

Pictures of a whole fleet are taken once for all who ask within a moment. What was not seen completely is not answered:
an answer without it could be wrong.
"""

from collections.abc import Callable, Sequence

import msgspec
from aiohttp import web

from kubeapi.core import EVENTS, Event
from kubeclient import Forbidden, NotFound, WorldError
from leeward.answers.application_dependencies import Dependency, dependencies_of_application
from leeward.answers.application_history import HistoryLine, history_of
from leeward.answers.explanation import Explanation, explain_binding
from leeward.answers.fleet_state import BindingName, FleetState
from leeward.answers.imagined import EVICTION_TIMEOUT, FAILURE_THRESHOLD, ImaginedChange, select_clusters
from leeward.answers.outage_report import report
from leeward.answers.reading import read_for
from leeward.answers.resilience import CLUSTER, losses_by, survey
from leeward.answers.return_losses import ReturnLosses
from leeward.answers.room_arithmetic import ESTIMATED
from leeward.answers.timeline import Timeline
from leeward.answers.what_if import WhatIf, what_if
from leeward.answers.what_if_sentences import answer_of, brake_sentence, command_of
from leeward.api.names import binding_name
from leeward.core.rollout.state import state_of
from leeward.dashboard.context import DashboardContext, answered, failed
from leeward.dashboard.pictures import FleetPictures
from leeward.dashboard.rights import FleetSight
from leeward.dashboard.sessions import Session
from leeward.dashboard.views.outage_rows import told_outage
from leeward.lint.checking import lint
from leeward.lint.findings import LintReport
from leeward.lint.objects import LintObject
from leeward.lint.picture import LintPicture, objects_of
from leeward.operations import OperationFailed

NO_NAMESPACE = "-"
LONGEST_SECONDS = 30 * 86_400.0


class ApplicationDetail(msgspec.Struct, frozen=True, rename="camel"):
    explanation: Explanation
    dependencies: list[Dependency]
    history: list[HistoryLine]


class MarkdownReport(msgspec.Struct, frozen=True, rename="camel"):
    """Report of an outage, as `leeward timeline -o markdown` prints it."""

    markdown: str


class WhatIfView(msgspec.Struct, frozen=True, rename="camel"):
    """The answer, with the sentences that `leeward what-if` says of it, and the command that asks the same."""

    headline: str
    detail: str
    command: str
    answer: WhatIf


class Answering:
    def __init__(self, context: DashboardContext, pictures: FleetPictures) -> None:
        self._context = context
        self._pictures = pictures

    def routes(self) -> list[web.RouteDef]:
        signed_in = self._context.signed_in
        return [
            web.get("/api/applications/{namespace}/{kind}/{name}", signed_in(self._application)),
            web.get("/api/outages/{name}", signed_in(self._outage)),
            web.get("/api/outages/{name}/report", signed_in(self._report)),
            web.get("/api/what-if", signed_in(self._what_if)),
            web.get("/api/resilience", signed_in(self._resilience)),
            web.get("/api/lint", signed_in(self._lint)),
        ]

    async def _application(self, request: web.Request, session: Session) -> web.StreamResponse:
        """Raises: WorldError."""
        kind, namespace, name = named_in(request)
        if refusal := refusal_to_show(namespace, session):
            return failed(403, refusal)
        key, client = BindingName(namespace, binding_name(kind, name)), self._context.client
        try:
            state = await read_for(client, self._context.clock, key, self._context.config.name)
        except NotFound:
            title = "/".join(filter(None, (namespace, name)))
            return failed(404, f"there is no {kind} {title} that a policy claims")
        seen = self._context.follower.seen()
        explanation = await self._pictures.work_out(explain_binding, state, key)
        dependencies = dependencies_of_application(state, key, seen.bindings)
        outages = seen.state.recorded.outages if session.sight.outages else ()
        events = await _events(session, namespace, (name, key.name))
        known = state_of(state.bindings[key], state.as_of)
        history = history_of(kind, namespace, name, outages, events, known.steps if known is not None else ())
        return answered(ApplicationDetail(explanation, dependencies, history))

    async def _outage(self, request: web.Request, session: Session) -> web.StreamResponse:
        return self._of_outage(request, session, lambda told: told.outages[0])

    async def _report(self, request: web.Request, session: Session) -> web.StreamResponse:
        return self._of_outage(request, session, lambda told: MarkdownReport(report(told)))

    def _of_outage(
        self, request: web.Request, session: Session, render: Callable[[Timeline], object]
    ) -> web.StreamResponse:
        if not session.sight.outages:
            return failed(403, f"{session.user} may not list outages.leeward.dev")
        state = self._context.follower.seen().state
        try:
            return answered(render(told_outage(state, request.match_info["name"], session.sight)))
        except OperationFailed as error:
            return failed(404, str(error))

    async def _what_if(self, request: web.Request, session: Session) -> web.StreamResponse:
        """Raises: OperationFailed for what is asked wrongly; WorldError."""
        state = await complete_picture(self._pictures, session)
        return answered(await what_if_view(self._pictures, state, change_asked(state, request), session.sight))

    async def _resilience(self, request: web.Request, session: Session) -> web.StreamResponse:
        """Raises: OperationFailed, WorldError."""
        state, by = await complete_picture(self._pictures, session), request.query.get("by", CLUSTER)
        found = await self._pictures.work_out(survey, state, losses_by(state, by), by)
        if session.sight.is_whole:
            return answered(found)
        hidden = [msgspec.structs.replace(loss, worst=[], alone=[]) for loss in found.losses]
        return answered(msgspec.structs.replace(found, losses=hidden, without_second_place=[]))

    async def _lint(self, _: web.Request, session: Session) -> web.StreamResponse:
        """Raises: OperationFailed, WorldError."""
        if not session.sight.is_whole:
            return failed(403, f"lint looks at the whole fleet: {'; '.join(session.sight.missing)}")
        state, live, missed = await self._pictures.with_objects()
        return answered(await self._pictures.work_out(_linted, state, live, missed))


async def complete_picture(pictures: FleetPictures, session: Session) -> FleetState:
    """Raises: OperationFailed where it is not complete, or the user may not see the clusters; WorldError."""
    if not session.sight.clusters:
        raise OperationFailed(f"{session.user} may not list clusters.cluster.karmada.io")
    state = await pictures.whole()
    if state.recorded.unseen:
        missing = "; ".join(state.recorded.unseen)
        raise OperationFailed(f"no answer, since one without it could be wrong: {missing}")
    return state


def named_in(request: web.Request) -> tuple[str, str, str]:
    """Kind, namespace (empty for none) and name of the application in the path."""
    kind, namespace, name = (request.match_info[each] for each in ("kind", "namespace", "name"))
    return kind, "" if namespace == NO_NAMESPACE else namespace, name


def refusal_to_show(namespace: str, session: Session) -> str:
    """Reason for which a user is told nothing of the applications of a namespace, whether there are any or not; empty
    where seen."""
    if session.sight.shows(namespace):
        return ""
    where = f" in the namespace {namespace}" if namespace else ""
    return f"{session.user} may not list resourcebindings.work.karmada.io{where}"


def change_asked(state: FleetState, request: web.Request) -> ImaginedChange:
    """Raises: OperationFailed that names the parameter."""
    if "release" in request.query:
        return ImaginedChange(releases_brake=True)
    fails, drained = (select_clusters(state, request.query.getall(name, []), name) for name in ("fail", "drain"))
    if not fails and not drained:
        raise OperationFailed(
            "nothing is asked: give fail or drain, the name of a cluster, or region=, zone=, provider="
        )
    threshold, timeout = (_seconds(request, flag.removeprefix("--")) for flag in (FAILURE_THRESHOLD, EVICTION_TIMEOUT))
    return ImaginedChange(
        fails,
        drained,
        0,
        _seconds(request, "recover-after"),
        failure_threshold_seconds=threshold,
        eviction_timeout_seconds=timeout,
    )


async def what_if_view(
    pictures: FleetPictures, state: FleetState, change: ImaginedChange, sight: FleetSight
) -> WhatIfView:
    """Raises: OperationFailed where too many ask."""
    found = await pictures.work_out(what_if, state, change)
    said = ["" if change.releases_brake else brake_sentence(found), ESTIMATED if state.settings.estimators else ""]
    return WhatIfView(
        answer_of(found),
        "; ".join(filter(None, said)),
        command_of(change),
        found if sight.is_whole else _seen(found, sight),
    )


def _seen(found: WhatIf, sight: FleetSight) -> WhatIf:
    """Figures of all, and the names that may be seen."""
    shown = [each for each in found.applications if sight.shows(each.binding.rpartition("/")[0])]
    workloads = {each.workload for each in shown}
    missing = [each for each in found.missing_dependencies if each.workload in workloads]
    losses = ReturnLosses(found.losses.kinds)
    return msgspec.structs.replace(found, applications=shown, missing_dependencies=missing, losses=losses)


def _seconds(request: web.Request, name: str) -> float | None:
    """Raises: OperationFailed."""
    text = request.query.get(name, "")
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1
    if not 0 <= seconds <= LONGEST_SECONDS:
        raise OperationFailed(f"{name} {text!r}: give seconds, at most {LONGEST_SECONDS:g}")
    return seconds


async def _events(session: Session, namespace: str, names: Sequence[str]) -> list[Event]:
    """Events of the template and its binding, as far as the user may read them: asked in the user's own name."""
    found = list[Event]()
    for name in names:
        try:
            page = await session.client.list(EVENTS, namespace, field_selector=f"involvedObject.name={name}", limit=100)
        except Forbidden:
            return found
        except WorldError:
            continue
        found += page.items
    return found


def _linted(state: FleetState, live: Sequence[LintObject], missed: Sequence[str]) -> LintReport:
    unseen = (*missed, *state.recorded.unseen)
    return lint(
        LintPicture([*objects_of(state), *live], state, is_whole=not unseen), state.control_plane, unseen=unseen
    )
