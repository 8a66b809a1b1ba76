"""Warns once of a Pull cluster whose agent is Karmada's own: it is believed, and less can be known by it.

Reads what Works say; judges no copy (`core.copies.evidence`).
"""

from controller_runtime import Index
from leeward.api.cluster import Cluster
from leeward.api.names import cluster_of_execution_space
from leeward.api.resource import WORKS
from leeward.api.work import Work
from leeward.controllers.cluster.warnings import StandingWarnings
from leeward.core.copies.evidence import AGENT_SETTLES, is_told_by_karmada
from leeward.runtime.controller_context import ControlPlane

_MESSAGE = (
    "its agent does not say which generation of a Work it reports about, as Karmada's does not: what it "
    "reports is believed; leeward's agent would also tell old reports from new ones when the cluster returns"
)


class AgentReports:
    def __init__(self, plane: ControlPlane, warnings: StandingWarnings) -> None:
        self._clock = plane.clock
        self._warnings = warnings
        self._works = Index(plane.informers.of(WORKS), _cluster_told_by_karmada)

    def look_at(self, cluster: Cluster) -> None:
        before = self._clock.now() - AGENT_SETTLES
        told = self._works.get(cluster.name) if cluster.spec.sync_mode == "Pull" else ()
        instants = [work.applied.last_transition_time for work in told if work.applied is not None]
        settled = any(instant is not None and instant < before for instant in instants)
        self._warnings.keep(cluster, "AgentTellsNoGeneration", _MESSAGE if settled else "")


def _cluster_told_by_karmada(work: Work) -> str | None:
    return cluster_of_execution_space(work.namespace) if is_told_by_karmada(work) else None
