"""Context that a controller is given: the control plane that it serves, and the member cluster where it has to do with
one."""

from collections.abc import Awaitable, Callable, Hashable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from controller_runtime import (
    NORMAL,
    WARNING,
    CacheBudget,
    Controller,
    EventRecorder,
    InformerLimits,
    Informers,
    Note,
    Rank,
    StatusWriters,
    reference_of,
)
from controller_runtime.packing import MAX_UNPACKED, Packing, RecentObjects
from kubeapi import codec
from kubeapi.core import ObjectReference
from kubeapi.loop import Clock, EventLoopLag, Randomness, Supervisor, Turns
from kubeapi.resource import Resource
from kubeclient import IMPATIENT, Client
from leeward.api.resource import CLUSTERS
from leeward.api.work import Work, WorkloadTemplate
from leeward.lua.jail import Jail, LocalJail
from leeward.runtime.discovery import Discovery
from leeward.runtime.heartbeat import FailedProbes
from leeward.runtime.hub_fence import HubFence
from leeward.runtime.interpreter import Interpreter, followed, followed_webhooks
from leeward.runtime.interpreter_changes import InterpreterChanges
from leeward.runtime.interpreter_webhooks import HttpsCalls, InterpreterWebhooks
from leeward.runtime.metrics import Metrics
from leeward.runtime.server_identity import ServerIdentity
from leeward.runtime.webhook_queue import Call
from leeward.runtime.work_share import WHOLE, WorkShare

K = TypeVar("K", bound=Hashable)
PACKING: Packing[Work] = Packing(
    lambda work: codec.encode(work.spec.workload),
    Work.without_manifests,
    lambda body, rest: rest.with_workload(codec.decode(body, WorkloadTemplate)),
)
"""Packs the manifests of a Work: the rest is looked at again and again."""


def informer_limits(turns: Turns | None = None, max_unpacked: int = MAX_UNPACKED) -> InformerLimits:
    """Limits of informers in whose caches the Works are packed."""
    return InformerLimits(turns or Turns(), RecentObjects(max_unpacked, {Work: PACKING}))


@dataclass(frozen=True, slots=True)
class Server:
    """One API server as its clients see it."""

    client: Client
    informers: Informers
    discovery: Discovery
    statuses: StatusWriters
    identity: ServerIdentity

    @staticmethod
    def of(
        client: Client,
        randomness: Randomness,
        supervisor: Supervisor,
        budget: CacheBudget | None = None,
        limits: InformerLimits | None = None,
        processes: int = 1,
    ) -> "Server":
        """A `budget` is for a server of others, which is not believed to be reasonable; `limits` are its informers'.

        Controllers come again by their queues, followers after a pause: what is put off (429) keeps neither waiting.
        """
        client = client.with_patience(IMPATIENT)
        informers = Informers(client, randomness, supervisor, budget, limits)
        statuses = StatusWriters(client, informers, supervisor, processes)
        return Server(client, informers, Discovery(client), statuses, ServerIdentity(client, informers.list_anew))


@dataclass(frozen=True, slots=True)
class ControlPlane:
    """The control plane's API server, and what all controllers of a process share.

    `turns` are those of all controllers, `limits` those of the informers of all servers. `jail` runs the scripts of
    interpreters: in this process unless another one is given. `call_webhook` brings questions to interpreter webhooks:
    over HTTPS unless there is another way. `ask_gate` does so for gates, over connections of its own. `share` is what
    this process does of the work.
    """

    server: Server
    clock: Clock
    randomness: Randomness
    metrics: Metrics
    events: EventRecorder
    supervisor: Supervisor
    failed_probes: FailedProbes = field(default_factory=FailedProbes)
    lag: EventLoopLag = field(default_factory=EventLoopLag)
    turns: Turns = field(default_factory=Turns)
    limits: InformerLimits = field(default_factory=informer_limits)
    jail: Jail = field(default_factory=LocalJail)
    call_webhook: Call = field(default_factory=HttpsCalls)
    share: WorkShare = WHOLE
    ask_gate: Call = field(init=False)
    interpreter: Interpreter = field(init=False)
    interpreter_changes: InterpreterChanges = field(init=False)

    def __post_init__(self) -> None:
        informers, call = self.server.informers, self.call_webhook
        object.__setattr__(self, "ask_gate", call.of_gates() if isinstance(call, HttpsCalls) else call)
        webhooks = InterpreterWebhooks(followed_webhooks(informers), self.call_webhook, self.clock, self.supervisor)
        interpreter = Interpreter(followed(informers), self.jail, self.clock, webhooks)
        object.__setattr__(self, "interpreter", interpreter)
        object.__setattr__(self, "interpreter_changes", InterpreterChanges(informers))

    @staticmethod
    def of(
        client: Client,
        clock: Clock,
        randomness: Randomness,
        metrics: Metrics,
        supervisor: Supervisor,
        jail: Jail | None = None,
        call_webhook: Call | None = None,
        share: WorkShare = WHOLE,
        max_unpacked: int = MAX_UNPACKED,
    ) -> "ControlPlane":
        """Context that the controllers of a process share, which reaches its control plane over `client`. Of all
        objects that they follow `max_unpacked` are kept unpacked."""
        events, turns = EventRecorder(client.with_patience(IMPATIENT), clock, randomness), Turns()
        limits = informer_limits(turns.with_own_time(), max_unpacked)
        server = Server.of(client, randomness, supervisor, None, limits, share.processes)
        return ControlPlane(
            server,
            clock,
            randomness,
            metrics,
            events,
            supervisor,
            turns=turns,
            limits=limits,
            jail=jail or LocalJail(),
            call_webhook=call_webhook or HttpsCalls(),
            share=share,
        )

    @property
    def client(self) -> Client:
        return self.server.client

    @property
    def informers(self) -> Informers:
        return self.server.informers

    @property
    def statuses(self) -> StatusWriters:
        return self.server.statuses

    def expect_burst(self, namespaces: Iterable[str]) -> None:
        """Has what is soon said of many objects count as a burst's, and what is told in these namespaces."""
        self.statuses.expect_burst()
        self.events.expect_burst(namespaces)

    def recorder(self, component: str) -> "Recorder":
        return Recorder(self.events, component)

    def controller(
        self,
        name: str,
        reconcile: Callable[[K], Awaitable[datetime | None]],
        workers: int = 8,
        rank: Callable[[K], int] = lambda key: 0,
        owns: Callable[[K], bool] = lambda key: True,
    ) -> Controller[K]:
        """`rank`: the keys with the lowest come first; `owns`: the others are not reconciled here."""
        return Controller(
            name,
            reconcile,
            clock=self.clock,
            randomness=self.randomness,
            metrics=self.metrics,
            workers=workers,
            rank=rank,
            owns=owns,
            turns=self.turns,
        )


@dataclass(frozen=True, slots=True)
class Member:
    """One member cluster: its name in the control plane, and its own API server."""

    name: str
    server: Server
    supervisor: Supervisor
    fence: HubFence | None = None
    """The fence that the client of its server looks at."""

    @staticmethod
    def of(
        name: str,
        client: Client,
        randomness: Randomness,
        supervisor: Supervisor,
        limits: InformerLimits | None = None,
        fence: HubFence | None = None,
    ) -> "Member":
        """Reached over `client`, and not believed to be reasonable; `limits` are its informers'."""
        return Member(name, Server.of(client, randomness, supervisor, CacheBudget(), limits), supervisor, fence)


@dataclass(frozen=True, slots=True)
class Recorder:
    """Records events in the name of one component."""

    events: EventRecorder
    component: str

    def normal(self, resource: Resource[Any], obj: object, reason: str, message: str) -> None:
        self.note(reference_of(resource, obj), NORMAL, reason, message, _rank_about(resource))

    def warning(self, resource: Resource[Any], obj: object, reason: str, message: str) -> None:
        self.note(reference_of(resource, obj), WARNING, reason, message, _rank_about(resource))

    def step(self, about: ObjectReference, reason: str, message: str, namespace: str = "") -> None:
        """Something that went well on the way to what is told anyhow: in a burst of its namespace it is left out.

        `namespace`: of the users whom it concerns, where the object is not theirs.
        """
        self.events.record(Note(self.component, about, NORMAL, reason, message, Rank.STEP, namespace))

    def note(
        self, about: ObjectReference, event_type: str, reason: str, message: str, rank: Rank = Rank.CHANGE
    ) -> None:
        self.events.record(Note(self.component, about, event_type, reason, message, rank))


def _rank_about(resource: Resource[Any]) -> Rank:
    return Rank.MOVE if resource is CLUSTERS else Rank.CHANGE
