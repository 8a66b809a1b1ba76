"""Memory of a binding: one annotation with a row for each cluster.

    unhealthySince   the instant since which its copy is unhealthy
    tried            the release was in vain there (C1)
    awaitedSince     its copy replaces another; the instant from which its time to become healthy counts (L2)

All of it is about one release. Another release is not refused yet where the one before it was, and has the whole time
everywhere. `releasedAt` is the instant at which it came in the middle of a failover. `healthySince` is when all copies
became healthy, after which the clusters that were tried are forgotten.

The detector notes a digest of the template without its metadata on the binding, which tells the release. Where a
binding has none, the template's resourceVersion tells it. Scaling is no release.

Holds: C1, L2. Karmada has no such thing.
"""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from kubeapi.codec import DecodeError, decode, encode
from kubeapi.meta import Object
from leeward.api.names import MEMORY_ANNOTATION, TEMPLATE_CONTENTS_ANNOTATION
from leeward.api.work import Binding

_Instant = Annotated[datetime, Meta(tz=True)]
EARLIER_MEMORY_ANNOTATIONS = (
    "leeward.dev/application-failures",
    "leeward.dev/awaited-targets",
    "leeward.dev/failover-release",
)
"""Annotations in its place, which earlier versions wrote."""
Instants = Mapping[str, datetime]
"""Instants by cluster."""
NO_INSTANTS: Instants = {}


class RememberedCopy(Object, frozen=True):
    unhealthy_since: _Instant | None = None
    tried: bool = False
    awaited_since: _Instant | None = None


class BindingMemory(Object, frozen=True):
    """`release` is as of `release_of`, `replicas` how many the template asked for then. `over`: uid of the template.
    All of its Job had ended when a cluster of it left the fleet."""

    release: str = ""
    replicas: int = 0
    released_at: _Instant | None = None
    healthy_since: _Instant | None = None
    over: str | None = None
    clusters: Mapping[str, RememberedCopy] = {}

    @property
    def unhealthy(self) -> Instants:
        rows = self.clusters.items()
        return {name: row.unhealthy_since for name, row in rows if row.unhealthy_since is not None}

    @property
    def tried(self) -> tuple[str, ...]:
        return tuple(name for name, row in self.clusters.items() if row.tried)

    @property
    def in_vain(self) -> frozenset[str]:
        """Clusters in which the present release is unhealthy, or was tried: nowhere to go for another copy of it."""
        return frozenset(name for name, row in self.clusters.items() if row.tried or row.unhealthy_since is not None)

    @property
    def awaited(self) -> Instants:
        return {name: row.awaited_since for name, row in self.clusters.items() if row.awaited_since is not None}

    def noting(
        self, unhealthy: Instants | None = None, tried: Collection[str] | None = None, awaited: Instants | None = None
    ) -> "BindingMemory":
        """The memory with these in place of the present ones; None leaves them as they are."""
        ill = self.unhealthy if unhealthy is None else unhealthy
        vain, wait = self.tried if tried is None else tried, self.awaited if awaited is None else awaited
        rows = {name: RememberedCopy(ill.get(name), name in vain, wait.get(name)) for name in {*ill, *vain, *wait}}
        return replace(self, clusters=dict(sorted(rows.items())))

    def after_leaving(
        self, clusters: Collection[str], *, remember: bool, awaited: Instants = NO_INSTANTS
    ) -> "BindingMemory":
        """The memory once the copies have left these clusters, which are remembered as those that were tried."""
        unhealthy = {name: at for name, at in self.unhealthy.items() if name not in clusters}
        return self.noting(unhealthy, (*self.tried, *(clusters if remember else ())), awaited)


def parse_memory(binding: Binding, now: datetime) -> BindingMemory:
    """Parses the binding's annotation, as it is for the present release; empty where nobody can read it.

    An entry that is awaited since a future instant is left out."""
    annotations, release, replicas = binding.metadata.annotations, release_of(binding), binding.spec.replicas
    present = BindingMemory(release, replicas)
    try:
        text = annotations.get(MEMORY_ANNOTATION)
        found = decode(text.encode(), BindingMemory) if text is not None else _of_earlier_version(annotations)
    except DecodeError:
        return present
    if found is None:
        return present
    is_same = found.release in (release, binding.spec.resource.resource_version)
    if not is_same and found.replicas == replicas:
        return replace(present, released_at=now, over=found.over).noting(awaited=dict.fromkeys(found.awaited, now))
    released_at = found.released_at and min(found.released_at, now)
    awaited = {name: at for name, at in found.awaited.items() if at <= now}
    return replace(found, release=release, replicas=replicas, released_at=released_at).noting(awaited=awaited)


def memory_patch(binding: Binding, memory: BindingMemory, *, is_moving: bool) -> Mapping[str, str | None]:
    """The change of the binding's annotations that keeps `memory`; empty when it is kept already.

    A failover that `is_moving` is remembered with its release."""
    text = None
    if any((memory.clusters, memory.over, is_moving)):
        text = encode(memory if is_moving else replace(memory, released_at=None)).decode()
    annotations = binding.metadata.annotations
    earlier: dict[str, str | None] = dict.fromkeys(name for name in EARLIER_MEMORY_ANNOTATIONS if name in annotations)
    return earlier if text == annotations.get(MEMORY_ANNOTATION) else {**earlier, MEMORY_ANNOTATION: text}


def release_of(binding: Binding) -> str:
    """The digest of the template's contents; its resourceVersion where the binding has none."""
    return binding.metadata.annotations.get(TEMPLATE_CONTENTS_ANNOTATION) or binding.spec.resource.resource_version


class _Failures(Object, frozen=True):
    release: str = ""
    replicas: int = 0
    since: Mapping[str, _Instant] = {}
    left: tuple[str, ...] = ()
    healthy_since: _Instant | None = None


class _Release(Object, frozen=True):
    release: str = ""
    replicas: int = 0
    since: _Instant | None = None


def _of_earlier_version(annotations: Mapping[str, str]) -> BindingMemory | None:
    """Memory in the annotations of earlier versions. Raises: DecodeError."""
    if not any(name in annotations for name in EARLIER_MEMORY_ANNOTATIONS):
        return None
    failures, awaited, release = (annotations.get(name, "{}").encode() for name in EARLIER_MEMORY_ANNOTATIONS)
    failed, waiting, moved = decode(failures, _Failures), decode(awaited, _Failures), decode(release, _Release)
    known = next((each for each in (failed, waiting, moved) if each.release), moved)
    memory = BindingMemory(known.release, known.replicas, moved.since, failed.healthy_since)
    return memory.noting(failed.since, failed.left, waiting.since)
