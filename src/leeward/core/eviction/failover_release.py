"""Release that a failover moves: another one, which comes in the middle of it, has the whole time to become healthy.

The time of a target counts from the eviction task that it replaces (`stalled_replacements`). A release that comes later
is not refused yet where the one before it was: so an annotation of the binding remembers with which release the
failover began, and since when there is another one. It is written with the eviction, and goes with the last task.
Scaling is no release, as in the failure record (`application`), nor is a change of metadata (`binding_release`).

Holds: C1, L2. Karmada has no such thing.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated

from msgspec import Meta

from kubeapi.codec import DecodeError, decode, encode
from kubeapi.meta import Object
from leeward.api.names import FAILOVER_RELEASE_ANNOTATION
from leeward.api.work import Binding, GracefulEvictionTask
from leeward.core.copies.purge_modes import rules_of_task
from leeward.core.eviction.binding_release import is_other_release, release_of
from leeward.core.eviction.task_reasons import reason_rules_of_task


class _FollowedRelease(Object, frozen=True):
    """`release` is as of `release_of`, `replicas` how many the template asked for then; `since` is when it took the
    place of the one with which the failover began, None while it is that one."""

    release: str = ""
    replicas: int = 0
    since: Annotated[datetime, Meta(tz=True)] | None = None


def moves_on(task: GracefulEvictionTask) -> bool:
    """Tells whether what replaces its copy goes on to the next cluster where it is not taken."""
    is_failover = reason_rules_of_task(task).fails_over
    return is_failover and task.suppress_deletion is None and rules_of_task(task).moves_on


def released_at(binding: Binding, now: datetime) -> datetime | None:
    """The instant at which the present release came, since the open failover began; None where it began with it."""
    found = _parse(binding)
    if found is None:
        return None
    if is_other_release(binding, found.release, found.replicas):
        return now
    return found.since if found.since is None or found.since <= now else now


def failover_release_patch(
    binding: Binding, tasks: Sequence[GracefulEvictionTask], now: datetime
) -> Mapping[str, str | None]:
    """The change of the binding's annotations where `tasks` are its eviction tasks from now on; empty without any.

    A failover of which nothing is remembered is followed from its next task on."""
    spec, moving = binding.spec, [task for task in tasks if moves_on(task)]
    is_followed = _parse(binding) is not None or any(task not in spec.graceful_eviction_tasks for task in moving)
    text: str | None = None
    if moving and is_followed:
        followed = _FollowedRelease(release_of(binding), spec.replicas, released_at(binding, now))
        text = encode(followed).decode()
    present = binding.metadata.annotations.get(FAILOVER_RELEASE_ANNOTATION)
    return {} if text == present else {FAILOVER_RELEASE_ANNOTATION: text}


def _parse(binding: Binding) -> _FollowedRelease | None:
    """Parses the annotation; None where there is none, or nobody can read it."""
    try:
        return decode(binding.metadata.annotations[FAILOVER_RELEASE_ANNOTATION].encode(), _FollowedRelease)
    except (KeyError, DecodeError):
        return None
