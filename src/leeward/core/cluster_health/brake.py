"""The brake: when most of the fleet looks dead, the control plane is more likely cut off than the world at its end.

While it is engaged, a cluster that looks dead gets no automatic NoExecute taint, and no automatic eviction from it
starts (`due_evictions.is_automatic`). A person's taint evicts, and so does a policy's in a cluster that is alive. The
brake releases itself when the ratio has stayed below its threshold for a while.

A cut is not noticed everywhere at once: where clusters begin to fail, and would raise the alarm if they were lost,
evictions are held already.

Clusters that are in no list, though nobody has unjoined them, count as lost, and half of the fleet is an alarm. The
Clusters' API may show nothing for a while, as when its APIService changes hands. Karmada takes these for gone.

Two clusters may fall silent within one probe period, by time-out and not by refusal, and share neither region, zone nor
provider. Then it is more likely the way from here to them. That is an alarm, too, for a bounded time: they may have
died. The bound belongs to the doubt: clusters that flap start no new hold before they have been calm for a while. Of a
Pull cluster silence is all that can be known.

Holds: S4, S5. Karmada has no such thing (fault 5 of docs/karmada-behaviour.md).
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Literal

from kubeapi import codec
from kubeapi.core import Namespace
from kubeapi.meta import format_time
from leeward.api.cluster import Cluster
from leeward.api.meta import Condition
from leeward.api.names import EXECUTION_SPACE_PREFIX, execution_space
from leeward.api.taint_record import instant_in
from leeward.core.cluster_health.outage import not_seen_since
from leeward.core.cluster_health.pending_condition import is_failing
from leeward.core.cluster_health.ready_condition import NO_ANSWER, is_uncollected
from leeward.core.cluster_health.silence import Silence, follow_silence, parse_silence, quiet_enough_at, render_silence
from leeward.core.cluster_health.watched_time import ALWAYS, BEGINNING, WatchedTime

BrakeReason = Literal["ClustersVanished", "FleetLooksDead", "FleetLooksWell", "Overruled", "SilentAtOnce"]
VANISHED: BrakeReason = "ClustersVanished"


ROUNDING = timedelta(seconds=2)
"""Difference of dates in whole seconds, and of probes that are asked at once."""
BRAKE_ENDS = "until the clusters are back, or until `leeward brake release`"
_SILENT = (
    "These clusters fell silent at once and share no region, zone or provider, so the network to them may be down. "
    "The brake stops automatic evictions until {until}, until the clusters are back, or until `leeward brake release`"
)


@dataclass(frozen=True, slots=True)
class BrakeSettings:
    """--unhealthy-cluster-threshold, --unhealthy-cluster-minimum, --brake-release-after; `enabled` False: no brake.

    `silence_seconds` (--silent-clusters-hold): how long those are held that fell silent at once; 0 is not at all.
    """

    threshold: float = 0.55
    minimum: int = 3
    release_seconds: float = 60
    enabled: bool = True
    silence_seconds: float = 600
    probe_period_seconds: float = 10


@dataclass(frozen=True, slots=True)
class Brake:
    """`since` is when it was engaged (None: it is not); `calm_since` when the fleet looked well again meanwhile.

    `overruled`: someone released it by hand; it stays so until the alarm is over. `reason` is that of the condition
    Engaged: it is said, and nothing is decided by it.
    """

    since: datetime | None = None
    calm_since: datetime | None = None
    overruled: bool = False
    silence: Silence | None = None
    reason: str = field(default="", compare=False)

    @property
    def engaged(self) -> bool:
        return self.since is not None


@dataclass(frozen=True, slots=True)
class BrakeDecision:
    """`reason` is that of the condition Engaged."""

    brake: Brake
    message: str
    wake_at: datetime | None = None
    reason: BrakeReason = "FleetLooksWell"


def vanished_clusters(listed: Iterable[str], namespaces: Iterable[Namespace]) -> tuple[str, ...]:
    """Names of Clusters that may have vanished: not `listed`, with an execution space that nobody is deleting.

    Unjoining removes the space before the Cluster. Registering a Pull member makes the space first: whether there ever
    was a Cluster, the brake controller finds out. Holds: S5.
    """
    spaces = (n.name for n in namespaces if n.metadata.deletion_timestamp is None)
    known = {name.removeprefix(EXECUTION_SPACE_PREFIX) for name in spaces if name.startswith(EXECUTION_SPACE_PREFIX)}
    return tuple(sorted(known.difference(listed)))


def looks_dead(cluster: Cluster) -> bool:
    """Tells whether it is not Ready, for another reason than that its status could not be collected."""
    ready = cluster.ready
    return ready is not None and ready.status != "True" and not is_uncollected(ready)


def signs_of(cluster: Cluster) -> tuple[bool, bool, bool, bool]:
    """Signs by which the brake goes: while those of all clusters stay the same, so do its holds."""
    was_ready = bool(cluster.status.kubernetes_version)
    return looks_dead(cluster), is_failing(cluster), was_ready, cluster.is_being_deleted


def is_dubious(clusters: Iterable[Cluster], settings: BrakeSettings) -> bool:
    """Tells whether it would be an alarm, were those lost already that begin to fail. One must look dead for that.

    That is soon decided, either way: nothing is engaged for it, but no eviction starts meanwhile.
    """
    clusters = list(clusters)
    return any(map(looks_dead, clusters)) and is_alarming(
        clusters, settings, is_dead=lambda each: looks_dead(each) or is_failing(each)
    )


def is_alarming(
    clusters: Iterable[Cluster],
    settings: BrakeSettings,
    is_dead: Callable[[Cluster], bool] = looks_dead,
    vanished: Collection[str] = (),
) -> bool:
    """Tells whether so much of the fleet looks dead that it is more likely us. The fleet is all clusters that were ever
    Ready."""
    if not settings.enabled:
        return False
    fleet = [cluster for cluster in clusters if cluster.status.kubernetes_version and not cluster.is_being_deleted]
    size = len(fleet) + len(vanished)
    lost = sum(map(is_dead, fleet)) + len(vanished)
    most = lost >= settings.minimum and lost > settings.threshold * size
    return most or (lost > 0 and lost == size) or (bool(vanished) and 2 * len(vanished) >= size)


def decide_brake(
    brake: Brake,
    clusters: Iterable[Cluster],
    now: datetime,
    settings: BrakeSettings,
    vanished: Collection[str] = (),
    watched: WatchedTime = ALWAYS,
) -> BrakeDecision:
    """Decides the state of the brake, why, and when to look again.

    `vanished` are Clusters that are listed no more. It is released over `watched` time alone.
    """
    clusters = list(clusters)
    dead = sorted(cluster.name for cluster in clusters if looks_dead(cluster))
    count = f"{len(dead)} of {len(clusters)} clusters seem{'s' * (len(dead) == 1)} to be down"
    count += _of_vanished(vanished, len(clusters))
    alarming = is_alarming(clusters, settings, vanished=vanished)
    until = None if alarming else silent_until(clusters, settings, watched)
    is_silent_now = until is not None and now < until
    silence = brake.silence
    if not alarming:
        bounds = settings.silence_seconds, settings.release_seconds
        silence = follow_silence(silence, now, bounds, watched, is_silent=is_silent_now, overruled=brake.overruled)
    if until is not None and is_silent_now and silence is not None and not silence.spent:
        until = min(until, watched.moved(silence.since) + timedelta(seconds=settings.silence_seconds))
        message = f"{count} ({', '.join(dead)}). {_SILENT.format(until=format_time(until))}"
        return BrakeDecision(Brake(brake.since or now, silence=silence), message, until, "SilentAtOnce")
    if (alarming or is_silent_now) and brake.overruled:
        state = Brake(overruled=True, silence=silence)
        return BrakeDecision(state, f"released by hand: {count}", reason="Overruled")
    if alarming:
        message = f"{count} ({', '.join((*dead, *vanished))}). The brake stops automatic evictions {BRAKE_ENDS}"
        return BrakeDecision(Brake(brake.since or now, silence=silence), message, reason=_alarm(vanished))
    missing = _missing(vanished) if vanished and not dead else count
    return _decide_calm(replace(brake, silence=silence), now, settings, watched, (count, missing), vanished)


def _decide_calm(
    brake: Brake,
    now: datetime,
    settings: BrakeSettings,
    watched: WatchedTime,
    messages: tuple[str, str],
    vanished: Collection[str],
) -> BrakeDecision:
    """Decides without an alarm: it is released after a while, and at once if somebody asks for that."""
    count, missing = messages
    silence, over_at = brake.silence, quiet_enough_at(brake.silence, settings.release_seconds, watched)
    if not brake.engaged:
        return BrakeDecision(Brake(silence=silence), missing, over_at, VANISHED if vanished else "FleetLooksWell")
    calm_since = min(brake.calm_since or now, now)
    release_at = watched.moved(calm_since) + timedelta(seconds=settings.release_seconds)
    if now >= release_at or brake.overruled:
        return BrakeDecision(Brake(silence=silence), f"released: {count}", over_at)
    reason = "SilentAtOnce" if silence is not None and not silence.spent else _alarm(vanished)
    message = f"evictions begin again at {format_time(release_at)}, unless more clusters fail. Now {count}"
    return BrakeDecision(Brake(brake.since, calm_since, silence=silence), message, release_at, reason)


def silent_until(
    clusters: Iterable[Cluster], settings: BrakeSettings, watched: WatchedTime = ALWAYS
) -> datetime | None:
    """Instant until which clusters are held that fell silent at once, though they have no place in common; None where
    there are no two."""
    if not settings.enabled or not settings.silence_seconds:
        return None
    ever_ready = (c for c in clusters if c.status.kubernetes_version and not c.is_being_deleted)
    silent = sorted(((_turned_at(c), c) for c in ever_ready if is_silent(c)), key=lambda each: each[0], reverse=True)
    longest = timedelta(seconds=2 * settings.probe_period_seconds) + ROUNDING
    for index, (turned_at, cluster) in enumerate(silent):
        for before, other in silent[index + 1 :]:
            if turned_at - before > longest:
                break
            if _fell_silent_at_once(cluster, other, settings) and not _have_a_place_in_common(cluster, other):
                return watched.moved(turned_at) + timedelta(seconds=settings.silence_seconds)
    return None


def _turned_at(cluster: Cluster) -> datetime:
    """Instant at which `Ready` turned: one clock decides about silence, in Push and in Pull mode."""
    return (cluster.ready.last_transition_time if cluster.ready is not None else None) or BEGINNING


def _fell_silent_at_once(one: Cluster, other: Cluster, settings: BrakeSettings) -> bool:
    """Tells whether both were not seen within one period of probes. `Ready` of a Push cluster may turn a probe later;
    Pull clusters, and one of each, are compared by that alone."""
    window = timedelta(seconds=settings.probe_period_seconds) + ROUNDING
    if one.spec.sync_mode != other.spec.sync_mode:
        return True
    is_pull = one.spec.sync_mode == "Pull"
    first, second = (_turned_at(c) if is_pull else not_seen_since(c) or BEGINNING for c in (one, other))
    return abs(first - second) <= window


def is_silent(cluster: Cluster) -> bool:
    """Tells whether it looks dead because it does not answer at all. An agent that reports is heard of."""
    ready = cluster.ready
    if ready is None or not looks_dead(cluster):
        return False
    return ready.status == "Unknown" if cluster.spec.sync_mode == "Pull" else ready.message.endswith(NO_ANSWER)


def _have_a_place_in_common(one: Cluster, other: Cluster) -> bool:
    """Tells whether one cause in the region, the zone or the provider can have taken both."""
    places = (
        {("provider", s.provider), ("region", s.region), ("zone", s.zone), *(("zone", zone) for zone in s.zones)}
        for s in (one.spec, other.spec)
    )
    first, second = places
    return any(name for _, name in first & second)


def _alarm(vanished: Collection[str]) -> BrakeReason:
    return VANISHED if vanished else "FleetLooksDead"


def _of_vanished(vanished: Collection[str], listed: int) -> str:
    if not vanished:
        return ""
    return (
        f"; {len(vanished)} of {listed + len(vanished)} are not listed, though nobody has unjoined them "
        f"({', '.join(sorted(vanished))}), and bindings that name them stay as they are"
    )


def _missing(vanished: Collection[str]) -> str:
    """Says for people that Clusters are missing, where nothing else is wrong."""
    names, one = sorted(vanished), len(vanished) == 1
    spaces = ", ".join(map(execution_space, names))
    return (
        f"{', '.join(names)} {'is' if one else 'are'} in no list of clusters, and nobody has unjoined "
        f"{'it' if one else 'them'} (there {'is its execution space' if one else 'are their execution spaces'} "
        f"{spaces}); bindings that name {'it' if one else 'them'} stay as they are"
    )


def holds(brake: Brake, clusters: Iterable[Cluster], settings: BrakeSettings) -> bool:
    """Tells whether evictions are held: it is engaged, or is about to be, or may have to be when the doubts are
    settled."""
    return settings.enabled and (brake.engaged or (not brake.overruled and is_dubious(clusters, settings)))


def parse_brake(data: Mapping[str, str]) -> Brake:
    """Reads the ConfigMap's data; an instant that cannot be read counts as not set."""
    return Brake(
        instant_in(data.get("since")),
        instant_in(data.get("calmSince")),
        data.get("overruled") == "true",
        parse_silence(data),
        _reason_in(data),
    )


def _reason_in(data: Mapping[str, str]) -> str:
    try:
        return codec.decode(data["condition"].encode(), Condition).reason
    except (KeyError, codec.DecodeError):
        return ""


def render_brake(decision: BrakeDecision) -> dict[str, str]:
    """The ConfigMap's data: the state, and the condition `Engaged` for people."""
    brake = decision.brake
    condition = Condition(
        type="Engaged",
        status="True" if brake.engaged else "False",
        reason=decision.reason,
        message=decision.message,
        last_transition_time=brake.since,
    )
    data = {"condition": codec.encode(condition).decode()}
    if brake.since is not None:
        data["since"] = format_time(brake.since)
    if brake.calm_since is not None:
        data["calmSince"] = format_time(brake.calm_since)
    if brake.overruled:
        data["overruled"] = "true"
    return data | render_silence(brake.silence)
