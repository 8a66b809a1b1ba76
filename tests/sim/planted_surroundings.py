"""Planted bugs in what surrounds the control plane: tools that write what it writes, and fleets of two."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any
from unittest import mock

import msgspec

from leeward.api.cluster import Cluster
from leeward.api.taint_record import NO_RECORD, TaintRecord
from leeward.controllers.cluster import standing
from leeward.core.cluster_health import brake
from leeward.core.cluster_health.standing_taints import record_taints
from leeward.sim.histories.model import History, MemberHangs, MemberStops, Mode, SyncClusters
from leeward.sim.histories.steered.casting import THREE, evenly, web
from tests.sim.planted_harm import PUSHED, Harm

_TWO: tuple[tuple[str, Mode], ...] = (("m1", "Push"), ("m2", "Push"))
_IN_GIT = History(
    seed=9,
    members=PUSHED,
    steps=(
        web(evenly(*THREE, toleration_seconds=40)),
        SyncClusters(at=60, clusters=THREE, how="put", every=5, lasts=200),
        MemberStops(at=80, lasts=170, member="m1"),
    ),
)


def _record_no_taints() -> Any:
    """A taint that was taken off comes back with a new date."""

    def nothing(*_: Any) -> TaintRecord:
        return NO_RECORD

    return mock.patch.object(standing, "record_taints", nothing)


def _date_taints_too_early() -> Any:
    """A taint that was taken off counts from half a minute before it was first set."""

    def early(cluster: Cluster, *arguments: Any) -> TaintRecord:
        found, before = record_taints(cluster, *arguments), cluster.taint_record
        entries = (
            entry if before.find(entry.key, by_policy=entry.by_policy) else replace(entry, taint=_older(entry.taint))
            for entry in found.entries
        )
        return replace(found, entries=tuple(entries))

    return mock.patch.object(standing, "record_taints", early)


def _older(taint: Any) -> Any:
    added = taint.time_added
    return taint if added is None else msgspec.structs.replace(taint, time_added=added - timedelta(seconds=30))


def _brake_from_three_clusters_on() -> Any:
    """Fewer clusters than the brake's minimum are no mass failure, though they be all."""
    is_alarming = brake.is_alarming

    def large(clusters: Any, *arguments: Any, **more: Any) -> bool:
        clusters = list(clusters)
        return len(clusters) > 2 and is_alarming(clusters, *arguments, **more)

    return mock.patch.object(brake, "is_alarming", large)


SURROUNDINGS: Mapping[str, Harm] = {
    "record no taints": Harm(_record_no_taints, "L2", _IN_GIT),
    "date taints too early": Harm(_date_taints_too_early, "S13", _IN_GIT),
    "brake from three clusters on": Harm(
        _brake_from_three_clusters_on,
        "S4",
        History(
            seed=9,
            members=_TWO,
            steps=(
                web(evenly("m1", "m2")),
                *(MemberHangs(at=80 + 30 * n, lasts=100 - 30 * n, member=name) for n, (name, _) in enumerate(_TWO)),
            ),
        ),
    ),
}
