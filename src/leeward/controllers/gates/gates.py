"""Gates of bindings, looked at: objects in the control plane and in clusters, and webhooks.

A Push member is asked itself. Of a Pull member nobody but its agent sees anything: there the object must be propagated,
and the report of its Work is looked at. Looks go on beside the controllers, and none takes longer than `LOOK_SECONDS`:
a member that hangs holds up nobody (Holds: L4). What holds was looked at a moment ago, and what nobody could look at
does not hold. Which copies wait is said in `core.execution.gates`.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol

from controller_runtime import Key, keep_latest, key_of
from kubeapi.meta import Manifest
from kubeclient import Client, WorldError
from leeward.api.failback import OptionFault
from leeward.api.gates import WEBHOOK_REFUSED, ReplacementGate, is_gated, parse_gates, refuse_webhooks
from leeward.api.interpreter_config import ResourceInterpreterWebhook, WebhookClientConfig
from leeward.api.meta import Condition
from leeward.api.names import (
    AWAITED_GATE_ANNOTATION,
    KEEP_UNTIL_ANNOTATION,
    WAIT_FOR_ANNOTATION,
    execution_space,
    work_name,
)
from leeward.api.resource import CLUSTER_PROPAGATION_POLICIES, CLUSTERS, WORKS
from leeward.api.work import Binding
from leeward.controllers.gates.dependency_order import DependencyOrder
from leeward.controllers.rendering.override_rendering import Rendering
from leeward.core.copies.evidence import is_fresh
from leeward.core.execution.claims import name_of_works
from leeward.core.execution.gate_reviews import answer_of_gate, question_of_gate
from leeward.core.execution.gates import (
    GateSight,
    HeldCopy,
    cluster_policy_of,
    described,
    gate_values,
    held_since,
    judge_gate,
    judge_report,
    pause_after,
    replacement_held,
    replaces,
    told_held,
)
from leeward.core.execution.works import replicas_by_cluster
from leeward.runtime.controller_context import ControlPlane
from leeward.runtime.discovery import Discovery, UnknownKind

LOOK_SECONDS = 10
AT_ONCE, MOST_LOOKS = 16, 1_000
"""Looks that are under way at one place, and in all; others are made later."""
MOST_SIGHTS = 64
BELIEVED = timedelta(seconds=45)
"""Time for which a look counts: longer than the longest pause, and a look after it."""
NO_LOOK = GateSight("", seen=False)
ADMINISTRATORS = GateSight("only a ClusterPropagationPolicy may name an object outside of the application's namespace")
NO_WEBHOOK = GateSight(WEBHOOK_REFUSED)


class GatePlace(NamedTuple):
    """API server in which objects of gates are looked at."""

    client: Client
    discovery: Discovery


class GatePlaces(Protocol):
    async def of(self, cluster: str) -> GatePlace:
        """API server of a Push member. Raises: WorldError."""
        ...


class _Look(NamedTuple):
    """One gate of an annotation, for the replacement in a cluster."""

    annotation: str
    gate: ReplacementGate
    cluster: str

    @property
    def place(self) -> str:
        return self.gate.webhook or (self.cluster if self.gate.is_in_target else "")


@dataclass(slots=True)
class _Known:
    """Results of looks for one binding, with their instants, and copies that its last sync held."""

    sights: dict[_Look, tuple[GateSight, datetime]] = field(default_factory=dict[_Look, tuple[GateSight, datetime]])
    held: list[HeldCopy] = field(default_factory=list[HeldCopy])
    judged: set[str] = field(default_factory=set[str])
    """Clusters without a Work of which a sync has asked whether a copy waits there."""


class Gates:
    """Gates of all bindings of a process. A binding without gates costs a look at its annotations."""

    def __init__(self, plane: ControlPlane, places: GatePlaces, order: DependencyOrder | None = None) -> None:
        """`order` has new copies wait for what their templates name, once no gate holds them."""
        self._plane, self._places, self._order = plane, places, order
        self._clusters, self._works = plane.informers.of(CLUSTERS), plane.informers.of(WORKS)
        self._known: dict[Key, _Known] = {}
        self._under_way: set[tuple[Key, _Look]] = set()
        self._busy = Counter[str]()
        """Number of looks that are under way, by place."""
        self._look: Callable[[Key], None] = lambda key: None

    def start(self, look: Callable[[Key], None]) -> None:
        """Has a binding looked at when a gate of it is seen otherwise than before."""
        self._look = look
        if self._order is not None:
            self._order.start(look)

    def forget(self, key: Key) -> None:
        self._known.pop(key, None)

    def told(self, binding: Binding) -> Condition | None:
        """The condition of what the last sync of the binding has held.

        It alone remembers a held start across a restart. So it stays until its cluster is judged, if it has no Work.
        """
        known = self._known.get(key_of(binding))
        if known is None:
            return None
        condition = replacement_held(binding, known.held, self._plane.clock.now())
        if condition is not None or not self._unjudged(binding, known):
            return condition
        return told_held(binding)

    def _unjudged(self, binding: Binding, known: _Known) -> set[str]:
        name = name_of_works(binding)
        unknown = replicas_by_cluster(binding.spec).keys() - known.judged
        return {cluster for cluster in unknown if self._works.get(name, execution_space(cluster)) is None}

    async def with_refused(self, binding: Binding, template: Manifest, rendering: Rendering) -> Rendering:
        """The rendering with what its copies lack: objects that they need, and gates before which nobody relies on
        them. It is the beginning of a sync; in the middle of a rollout it is asked for each revision."""
        if self._order is not None:
            rendering = await self._order.with_refused(binding, template, rendering)
        if not is_gated(binding.metadata.annotations):
            self.forget(key_of(binding))
            return rendering
        known = self._known.setdefault(key_of(binding), _Known())
        wanted = replicas_by_cluster(binding.spec).keys() - rendering.manifests.keys()
        known.held = [each for each in known.held if each.cluster in wanted]
        known.judged &= wanted
        awaited = {name: text for name in rendering.manifests if (text := self._awaited(binding, name, known.held))}
        if not awaited:
            return rendering
        manifests = {name: replace(rendering.manifests[name], awaited=text) for name, text in awaited.items()}
        look_at = min(filter(None, (rendering.look_at, self._look_again(binding))))
        return replace(rendering, manifests={**rendering.manifests, **manifests}, look_at=look_at)

    async def wait(self, binding: Binding, template: Manifest, cluster: str) -> datetime | None:
        """Instant until which the binding's Work in a cluster that has none waits; None when it may be written."""
        now, known = self._plane.clock.now(), self._known.get(key_of(binding))
        if known is not None:
            known.judged.add(cluster)
        if known is not None and replaces(binding, cluster, now):
            held = list(self._held(binding, cluster, WAIT_FOR_ANNOTATION, starts=True))
            known.held += held
            if held:
                return self._look_again(binding)
        return await self._order.wait(binding, template, cluster) if self._order is not None else None

    def _look_again(self, binding: Binding) -> datetime:
        now = self._plane.clock.now()
        return now + pause_after(now - (held_since(binding) or now))

    def _awaited(self, binding: Binding, cluster: str, held: list[HeldCopy]) -> str:
        """Gates before which nobody relies on the copy in `cluster`; of a new one that replaces another, all."""
        work = self._works.get(name_of_works(binding), execution_space(cluster))
        if work is None:
            is_new = replaces(binding, cluster, self._plane.clock.now())
            return ", ".join(_titles(binding, cluster)) if is_new else ""
        if AWAITED_GATE_ANNOTATION not in work.metadata.annotations:
            return ""
        found = list(self._held(binding, cluster, KEEP_UNTIL_ANNOTATION, starts=False))
        held += found
        return ", ".join(described(each.gate) if each.gate is not None else each.sight.why for each in found)

    def _held(self, binding: Binding, cluster: str, annotation: str, *, starts: bool) -> Iterator[HeldCopy]:
        """A copy once for each gate that is not seen to hold."""
        try:
            gates = _gates(binding, cluster, annotation)
        except OptionFault as error:
            yield HeldCopy(cluster, starts, None, GateSight(str(error)))
            return
        for gate in gates:
            sight = self._sight(binding, _Look(annotation, gate, cluster))
            if sight == NO_WEBHOOK:
                yield HeldCopy(cluster, starts, None, GateSight(f"{annotation}: {sight.why}"))
            elif not sight.holds:
                yield HeldCopy(cluster, starts, gate, sight)

    def _sight(self, binding: Binding, look: _Look) -> GateSight:
        """Result of the last look, as long as it counts; the next one begins in its time."""
        now, known = self._plane.clock.now(), self._known[key_of(binding)]
        sight, at = known.sights.get(look, (NO_LOOK, None))
        if at is None or now - at >= (self._look_again(binding) - now) / 2:
            self._begin(binding, look)
        return sight if at is not None and now - at <= BELIEVED else NO_LOOK

    def _begin(self, binding: Binding, look: _Look) -> None:
        one = (key_of(binding), look)
        if one in self._under_way or len(self._under_way) >= MOST_LOOKS or self._busy[look.place] >= AT_ONCE:
            return
        self._under_way.add(one)
        self._busy[look.place] += 1
        self._plane.supervisor.start(self._take_in(binding, look), f"gate of {one[0]}")

    async def _take_in(self, binding: Binding, look: _Look) -> None:
        key = key_of(binding)
        try:
            sight = await self._try_to_look(binding, look)
        finally:
            self._under_way.discard((key, look))
            self._busy[look.place] -= 1
            self._busy += Counter()
        known = self._known.get(key)
        if known is None:
            return
        before, _ = known.sights.pop(look, (None, None))
        known.sights[look] = sight, self._plane.clock.now()
        keep_latest(known.sights, MOST_SIGHTS)
        if before != sight:
            self._look(key)

    async def _try_to_look(self, binding: Binding, look: _Look) -> GateSight:
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                return await (self._ask_webhook if look.gate.webhook else self._look_at)(binding, look)
        except TimeoutError:
            return GateSight(f"no answer within {LOOK_SECONDS} s", seen=False)
        except (WorldError, ValueError) as error:
            return GateSight(str(error), seen=False)

    async def _look_at(self, binding: Binding, look: _Look) -> GateSight:
        """Raises: WorldError."""
        gate = look.gate
        if gate.namespace != binding.namespace and not await self._is_administrators(binding, look):
            return ADMINISTRATORS
        cluster = self._clusters.get(look.cluster)
        if gate.is_in_target and (cluster is None or cluster.spec.sync_mode != "Push"):
            work = self._works.get(work_name(gate.kind, gate.name, gate.namespace), execution_space(look.cluster))
            return judge_report(gate, work, is_fresh=is_fresh(work, cluster))
        own = GatePlace(self._plane.client, self._plane.server.discovery)
        place = await self._places.of(look.cluster) if gate.is_in_target else own
        try:
            resource = await place.discovery.resource(gate.api_version, gate.kind)
        except UnknownKind as error:
            return GateSight(str(error))
        if not resource.namespaced and not await self._is_administrators(binding, look):
            return ADMINISTRATORS
        found = await place.client.find(resource, gate.name, gate.namespace if resource.namespaced else "")
        if found is None:
            return GateSight("it is not there")
        return judge_gate(gate, found)

    async def _is_administrators(self, binding: Binding, look: _Look) -> bool:
        """Tells whether the binding has these gates from its ClusterPropagationPolicy. Raises: WorldError."""
        name, annotations = cluster_policy_of(binding), binding.metadata.annotations
        if not name:
            return False
        policy = await self._plane.client.find(CLUSTER_PROPAGATION_POLICIES, name)
        if policy is None:
            return False
        return policy.metadata.annotations.get(look.annotation) == annotations.get(look.annotation)

    async def _ask_webhook(self, binding: Binding, look: _Look) -> GateSight:
        """Raises: WorldError, ValueError."""
        if not await self._is_administrators(binding, look):
            return NO_WEBHOOK
        gate, uid = look.gate, self._plane.randomness.uid()
        client = WebhookClientConfig(url=gate.webhook, ca_bundle=gate.ca_bundle)
        hook = ResourceInterpreterWebhook(gate.webhook, client, (), timeout_seconds=LOOK_SECONDS)
        answer = await self._plane.ask_gate(hook, question_of_gate(uid, binding, look.cluster, look.annotation))
        return answer_of_gate(answer.code, answer.body, uid)


def _gates(binding: Binding, cluster: str, annotation: str) -> list[ReplacementGate]:
    """Raises: OptionFault."""
    values, gates = gate_values(binding, cluster), parse_gates(annotation, binding.metadata.annotations)
    if not cluster_policy_of(binding):
        refuse_webhooks(annotation, gates)
    return [each.in_cluster(values) for each in gates]


def _titles(binding: Binding, cluster: str) -> list[str]:
    """Gates before which the old copy does not go; why they cannot be read, where that is so."""
    try:
        return [described(each) for each in _gates(binding, cluster, KEEP_UNTIL_ANNOTATION)]
    except OptionFault as error:
        return [str(error)]
