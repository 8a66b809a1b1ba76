"""The Works of one member cluster, as both controllers on the member's side see them.

Their names come into a queue when the Work changes, when the cluster becomes Ready, when someone in the member changes
or deletes what was applied from them, and when their kinds are interpreted otherwise.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from controller_runtime import Key, StatusChange, keep_latest, key_of, uid_of, version_of
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from leeward.api.cluster import Cluster
from leeward.api.names import WORK_ID_LABEL, execution_space
from leeward.api.resource import CLUSTERS, WORKS
from leeward.api.work import Work
from leeward.core.execution.ownership import is_ours
from leeward.core.execution.release import was_left
from leeward.core.interpreter.scripts import Operation
from leeward.runtime.controller_context import ControlPlane, Member
from leeward.runtime.interpreter_changes import Concerned
from leeward.runtime.owner_index import OwnerIndex

Settled = Callable[[Work], bool]
"""Tells of a Work whether nothing is left to do for it, as far as it says so."""


Add = Callable[[str, bool], None]
"""Takes the name of a Work that is to be looked at, and whether it is late: after the others."""

MAX_ANSWERS = 10_000
"""Most answers that are kept; for others the member is asked once more."""


class MemberWorks:
    def __init__(self, plane: ControlPlane, member: Member, namespace: str = "") -> None:
        """`namespace` narrows the watch to one execution space (the agent); empty shares one watch on all Works."""
        self.space = execution_space(member.name)
        self.answers = MemberAnswers()
        self._plane = plane
        self._member = member
        self._clusters = plane.informers.of(CLUSTERS)
        self._works = plane.informers.of(WORKS, namespace)
        self._statuses = plane.statuses.of(WORKS, namespace)
        self._when_applied: list[Callable[[str], None]] = []

    def backlinks(self, add: Add, reads_reports: Callable[[str], bool], settled: Settled) -> OwnerIndex:
        """Adds the names of Works whose objects change; of those that have only reported something, if so wanted."""

        def look_at(name: str, is_new: bool) -> None:
            work = self._works.get(name, self.space) if is_new else None
            add(name, work is not None and settled(work))

        def find_resting(name: str) -> Work | None:
            work = None if self.ready_since is None else self.known(name)
            return work if work is not None and settled(work) else None

        return OwnerIndex(self._member, self.space, look_at, lambda: self.hub, reads_reports, find_resting)

    def subscribe(
        self,
        add: Add,
        matters: Callable[[Work | None, Work], bool],
        settled: Settled,
        waiting: Callable[[], Iterable[str]] = tuple,
        asked: Collection[Operation] = (),
    ) -> None:
        """Adds names until the member's supervisor is closed; of changes, those that matter.

        When the cluster becomes Ready these are all of its Works, and those names that are `waiting` for it; when
        something that the interpreter is `asked` is answered otherwise, the Works with objects of such kinds. What is
        `settled` when it is first seen is added as late.
        """

        def work_changed(old: Work | None, new: Work | None) -> None:
            if new is not None and matters(old, new):
                add(new.name, old is None and settled(new))

        def cluster_changed(old: Cluster | None, new: Cluster | None) -> None:
            if new is None or _ready_since(new) in (None, _ready_since(old)):
                return
            self._member.server.informers.hurry()
            for work in list(self._works.list(self.space)):
                add(work.name, old is None and settled(work))
            for name in list(waiting()):
                add(name, False)

        def reinterpreted(concerned: Concerned) -> None:
            for work in self._works.list(self.space):
                if any(concerned(each["apiVersion"], each["kind"]) for each in work.objects):
                    add(work.name, False)

        self._member.supervisor.on_close(self._plane.interpreter_changes.subscribe(asked, reinterpreted))
        self._member.supervisor.on_close(self._works.on_change(work_changed, Key(self.space, "")))
        self._member.supervisor.on_close(self._clusters.on_change(cluster_changed, Key("", self._member.name)))

    async def get(self, name: str) -> Work | None:
        """Work with the status that is about to be written. Raises: WorldError while the control plane was not seen."""
        await self._plane.server.identity.read()
        await self._works.wait_synced()
        await self._clusters.wait_synced()
        return self.known(name)

    def known(self, name: str) -> Work | None:
        """Work with the status that is about to be written, as far as the control plane was seen."""
        work = self.stored(name)
        return self.expected(work) if work is not None else None

    def stored(self, name: str) -> Work | None:
        """Work without the status that is about to be written."""
        return self._works.get(name, self.space)

    def going(self) -> Iterable[Work]:
        """Works that are being deleted with their objects."""
        for work in self._works.list(self.space):
            if work.metadata.deletion_timestamp is not None and not work.spec.preserve_resources_on_deletion:
                yield work

    def expected(self, work: Work) -> Work:
        """The Work with the status that is about to be written."""
        return self._statuses.expected(work)

    @property
    def are_current(self) -> bool:
        """Tells whether the known Works count, and none has to be listed again before."""
        return self._works.current

    @property
    def hub(self) -> str:
        """The identity of the control plane; known after `get`, and empty where it cannot be had."""
        return self._plane.server.identity.known

    @property
    def cluster(self) -> Cluster | None:
        return self._clusters.get(self._member.name)

    @property
    def ready_since(self) -> datetime | None:
        """Instant at which the cluster last became Ready; None while it is not."""
        return _ready_since(self.cluster)

    def owns(self, work: Work, observed: Manifest) -> bool:
        """Tells whether an object of the member was made from this Work. Holds: S6."""
        work_id = work.metadata.labels.get(WORK_ID_LABEL, "")
        return is_ours(observed, work.namespace, work.name, work_id, self.hub) and not was_left(work, observed)

    def post(self, work: Work, writer: str, change: StatusChange[Work], *, within: float) -> None:
        """Posts as `Statuses.post`; who waits for a Work to be applied hears of it before it is written."""
        self._statuses.post(work, writer, change, within=within)
        if work.applied is None and self._statuses.expected(work).applied is not None:
            for add in self._when_applied:
                add(work.name)

    def when_applied(self, add: Callable[[str], None]) -> None:
        """Adds the name of a Work when it is first said that it is applied, or cannot be: in a burst that is written
        together with what is read of its objects."""
        self._when_applied.append(add)


def _ready_since(cluster: Cluster | None) -> datetime | None:
    """Instant at which the present Ready began. It tells one Ready from the next for those who were away between them,
    or who have written it themselves."""
    ready = cluster.ready if cluster is not None and cluster.is_ready else None
    return ready.last_transition_time if ready is not None else None


class _Answer(NamedTuple):
    ready_since: datetime
    uid: str
    version: int


@dataclass(slots=True)
class MemberAnswers:
    """Objects of a member as the member itself has answered since its cluster became Ready.

    A cache may be older than the recovery of its cluster, so who has to know asks the member. Of an object that was
    written since then its answer is known already: what is cached of it, in that version or a later one, is from this
    side of the recovery. Instants are compared with themselves only: that it is the same `Ready`, not which of two
    clocks is ahead.
    """

    _answers: dict[tuple[str, Key], _Answer] = field(default_factory=dict[tuple[str, Key], _Answer])

    def note(self, resource: Resource[Any], answer: Manifest, asked_when_ready_since: datetime | None) -> None:
        """Remembers the answer to a request that was sent while the cluster was Ready since that instant."""
        if asked_when_ready_since is None:
            return
        key = resource.group_resource, key_of(answer)
        self._answers.pop(key, None)
        self._answers[key] = _Answer(asked_when_ready_since, uid_of(answer), version_of(answer))
        keep_latest(self._answers, MAX_ANSWERS)

    def reach(self, resource: Resource[Any], cached: Manifest, ready_since: datetime | None) -> bool:
        """Tells whether the cached object is known to be no older than the cluster's present `Ready`."""
        answer = self._answers.get((resource.group_resource, key_of(cached)))
        return (
            answer is not None
            and answer.ready_since == ready_since
            and answer.uid == uid_of(cached)
            and answer.version <= version_of(cached)
        )

    def forget(self, group_resource: str, key: Key) -> None:
        self._answers.pop((group_resource, key), None)
