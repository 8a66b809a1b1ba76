"""Pods of members that are ready, counted by application and by image: the evidence of what serves."""

from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import msgspec

from controller_runtime import Key
from kubecluster.journal import Write

PODS = "//pods/"
REMEMBERED_SECONDS = 1_200.0


class _Labelled(msgspec.Struct, frozen=True, rename="camel"):
    labels: dict[str, str] = {}
    deletion_timestamp: str | None = None


class _PodCondition(msgspec.Struct, frozen=True):
    type: str
    status: str


class _PodStatus(msgspec.Struct, frozen=True):
    conditions: tuple[_PodCondition, ...] = ()


class _Container(msgspec.Struct, frozen=True):
    image: str = ""


class _PodSpec(msgspec.Struct, frozen=True):
    containers: tuple[_Container, ...] = ()


class _Pod(msgspec.Struct, frozen=True):
    """Part of a Pod that says whether it serves, for which application, and with which image."""

    metadata: _Labelled
    spec: _PodSpec = _PodSpec()
    status: _PodStatus = _PodStatus()

    @property
    def is_ready(self) -> bool:
        ready = any(c.type == "Ready" and c.status == "True" for c in self.status.conditions)
        return ready and self.metadata.deletion_timestamp is None


@dataclass(slots=True)
class Copies:
    """Numbers of replicas of an application that were ready in a member, and since when: (seconds, ready)."""

    levels: deque[tuple[float, int]] = field(default_factory=deque[tuple[float, int]])

    def note(self, seconds: float, ready: int) -> None:
        if not self.levels or self.levels[-1][1] != ready:
            self.levels.append((seconds, ready))
        while len(self.levels) > 1 and self.levels[1][0] < seconds - REMEMBERED_SECONDS:
            self.levels.popleft()

    def best_since(self, seconds: float, until: float = float("inf")) -> int:
        """The most that was ready at any time since then; -1 when there was no copy."""
        return max(self._between(seconds, until), default=-1)

    def worst_since(self, seconds: float, until: float = float("inf")) -> int:
        return min(self._between(seconds, until), default=-1)

    def _between(self, seconds: float, until: float) -> Iterable[int]:
        for index, (at, ready) in enumerate(self.levels):
            ends = self.levels[index + 1][0] if index + 1 < len(self.levels) else float("inf")
            if (ends > seconds or at >= seconds) and at <= until:
                yield ready


class ReadyPods:
    """`_serving`: the application and the image of each Pod that is ready, by member and Pod."""

    def __init__(self) -> None:
        self._serving: dict[tuple[str, str], tuple[Key, str]] = {}
        self._ready: Counter[tuple[str, Key]] = Counter()
        self._of_image: Counter[tuple[str, Key, str]] = Counter()
        self._images: dict[tuple[str, Key, str], Copies] = {}

    def count(self, member: str, app: Key) -> int:
        return self._ready[member, app]

    def with_image(self, member: str, app: Key, image: str) -> Copies:
        return self._images.get((member, app, image)) or Copies()

    def take(self, write: Write) -> Iterator[Key]:
        """Counts a Pod, by its label `app`. Tells the applications that have another number ready now."""
        record = write.record
        pod = None if record.deleted else msgspec.json.decode(record.value, type=_Pod)
        app = pod.metadata.labels.get("app") if pod is not None and pod.is_ready else None
        namespace = record.key[len(PODS) :].partition("/")[0]
        before, after = self._serving.pop((write.place, record.key), None), None
        if pod is not None and app:
            after = Key(namespace, app), ",".join(each.image for each in pod.spec.containers)
            self._serving[write.place, record.key] = after
        for served, more in ((before, -1), (after, 1)):
            if served is not None and before != after:
                self._add(write.place, *served, more, write.seconds)
                yield served[0]

    def forget(self, member: str, seconds: float) -> None:
        """The member runs none of them any more."""
        for found in [pair for pair in self._serving if pair[0] == member]:
            self._add(member, *self._serving.pop(found), -1, seconds)

    def _add(self, member: str, app: Key, image: str, more: int, seconds: float) -> None:
        self._ready[member, app] += more
        self._of_image[member, app, image] += more
        copies = self._images.setdefault((member, app, image), Copies())
        copies.note(seconds, self._of_image[member, app, image])
