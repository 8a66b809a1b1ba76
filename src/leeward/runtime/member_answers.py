"""Objects of a member as the member itself has answered since its cluster became Ready.

A cache may be older than the recovery of its cluster, so who has to know asks the member. Of an object that was written
since then its answer is known already: what is cached of it, in that version or a later one, is from this side of the
recovery. Instants are compared with themselves only: that it is the same `Ready`, not which of two clocks is ahead.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from controller_runtime import Key, keep_latest, key_of, uid_of, version_of
from kubeapi.meta import Manifest
from kubeapi.resource import Resource

MAX_ANSWERS = 10_000
"""Most answers that are kept; of what is forgotten the member is asked once more."""


class _Answer(NamedTuple):
    ready_since: datetime
    uid: str
    version: int


@dataclass(slots=True)
class MemberAnswers:
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
