"""The arithmetic of a rollout: how many replicas the new ReplicaSet and the old ones should have right now.

Kubernetes: pkg/controller/deployment (rolling, recreate, util). Same, except that a change of `spec.replicas` during a
rollout goes through the same arithmetic instead of being spread over all ReplicaSets first.
"""

from collections.abc import Sequence
from dataclasses import dataclass

IntOrPercent = int | str


@dataclass(frozen=True, slots=True)
class Size:
    """One ReplicaSet: the replicas that it is told to have, and those of them that are available."""

    wanted: int = 0
    available: int = 0


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes that the ReplicaSets are to be told; `old` in the order in which it was asked."""

    new: int
    old: tuple[int, ...]


def resolve_bounds(replicas: int, max_surge: IntOrPercent, max_unavailable: IntOrPercent) -> tuple[int, int]:
    """Numbers of Pods that may be there in excess, and that may lack. Surge is rounded up, the other down; not both are
    0.

    Raises: ValueError.
    """
    surge = _resolve("maxSurge", max_surge, replicas, round_up=True)
    unavailable = _resolve("maxUnavailable", max_unavailable, replicas, round_up=False)
    if surge == 0 and unavailable == 0:
        unavailable = 1
    return surge, min(unavailable, replicas)


def resolve_unavailable(total: int, max_unavailable: IntOrPercent) -> int:
    """Resolves as DaemonSets read it: rounded up. Raises: ValueError."""
    return _resolve("maxUnavailable", max_unavailable, total, round_up=True)


def resolve_share(field: str, value: IntOrPercent, total: int) -> int:
    """Resolves as PodDisruptionBudgets read both of their fields: rounded up. Raises: ValueError."""
    return _resolve(field, value, total, round_up=True)


def decide_rolling(replicas: int, surge: int, unavailable: int, new: Size, old: Sequence[Size]) -> Sizes:
    """The next step of a RollingUpdate; `old` begins with the oldest revision.

    The new ReplicaSet grows as far as the surge allows. Old ones give up what is not available first, then as many as
    keep `replicas - unavailable` available.
    """
    total_old = sum(size.wanted for size in old)
    wanted = min(replicas, max(new.wanted, replicas + surge - total_old))
    spare = total_old + min(wanted, new.available) - (replicas - unavailable)
    return Sizes(wanted, _shrink(old, spare))


def decide_recreate(replicas: int, old: Sequence[Size], old_pods_left: bool) -> Sizes:
    """All old Pods go before the first new one comes."""
    return Sizes(0 if old_pods_left or any(size.wanted for size in old) else replicas, (0,) * len(old))


def decide_paused(replicas: int, new: Size | None, old: Sequence[Size]) -> Sizes:
    """No rollout: only the number changes, on the newest ReplicaSet that has Pods, or else on the newest."""
    sizes = [size.wanted for size in old] + ([new.wanted] if new else [])
    missing = replicas - sum(sizes)
    for index in sorted(range(len(sizes)), key=lambda i: (sizes[i] > 0, i), reverse=True):
        change = max(missing, -sizes[index])
        sizes[index] += change
        missing -= change
    return Sizes(sizes[-1] if new else 0, tuple(sizes[: len(old)]))


def _shrink(old: Sequence[Size], spare: int) -> tuple[int, ...]:
    """Takes up to `spare` replicas away: those that are not available from all, before any that are."""
    sizes = [size.wanted for size in old]
    for keep_available in (True, False):
        for index, size in enumerate(old):
            floor = min(size.available, size.wanted) if keep_available else 0
            cut = max(0, min(spare, sizes[index] - floor))
            sizes[index] -= cut
            spare -= cut
    return tuple(sizes)


def _resolve(field: str, value: IntOrPercent, total: int, *, round_up: bool) -> int:
    """Raises: ValueError."""
    if isinstance(value, int):
        return value
    number = value.removesuffix("%")
    if number == value or not number.isdecimal():
        raise ValueError(f"{field}: {value!r} is neither a number nor a percentage such as 25%")
    scaled = int(number) * total
    return -(-scaled // 100) if round_up else scaled // 100
