"""Observation of a fleet at one instant: frozen objects, from which all views are made."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property

import msgspec

from controller_runtime import Key
from kubeapi.core import Lease
from leeward.answers.fleet_state import API_VERSION, KIND, FleetState, RecordedFleet
from leeward.answers.running_outage import brought_up_to_date
from leeward.api.cluster import Cluster
from leeward.api.outage import ClusterOutage
from leeward.api.policy import AnyPropagationPolicy
from leeward.api.work import Binding, ClusterResourceBinding, ResourceBinding
from leeward.core.cluster_health.brake import Brake
from leeward.core.cluster_health.watched_time import UNKEPT, Attention
from leeward.core.settings_in_force import SettingsInForce
from leeward.operations.brake import BrakeReading

MAX_REASON = 300
_FAILED_CHECK = re.compile(r"^\[-\]([A-Za-z0-9/_.-]+) failed", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class PlaneHealth:
    """Tells whether the control plane answers: `silent_since` is when it did not for the first time, `problem` why."""

    failed_checks: Mapping[str, str] = field(default_factory=dict[str, str])
    silent_since: datetime | None = None
    problem: str = ""

    @staticmethod
    def of_answer(code: int, body: bytes) -> "PlaneHealth":
        """Health by an answer to /readyz; who may not ask that is answered, too."""
        if code < 500:
            return PlaneHealth()
        text = body.decode(errors="replace")
        failed = dict.fromkeys(_FAILED_CHECK.findall(text), "")
        return PlaneHealth(failed or {"readyz": text[:MAX_REASON].strip()})

    def silent(self, problem: str, now: datetime) -> "PlaneHealth":
        return replace(self, silent_since=self.silent_since or now, problem=problem)


@dataclass(frozen=True, kw_only=True)
class SeenFleet:
    """`outages` is None where the control plane keeps none. `unreadable` are bindings that are there and cannot be
    read; `unseen` names what else could not be read (yet).
    """

    control_plane: str
    now: datetime
    clusters: Sequence[Cluster] = ()
    bindings: Sequence[Binding] = ()
    policies: Sequence[AnyPropagationPolicy] = ()
    outages: Sequence[ClusterOutage] | None = ()
    brake: BrakeReading | None = None
    leases: Sequence[Lease] = ()
    settings: SettingsInForce = field(default_factory=SettingsInForce)
    attention: Attention = UNKEPT
    health: PlaneHealth = field(default_factory=PlaneHealth)
    unreadable: tuple[Key, ...] = ()
    unseen: tuple[str, ...] = ()

    @cached_property
    def state(self) -> FleetState:
        """State as the picture that answers are made of; without Works, and with outages as they stand now."""
        return self.state_with(self.bindings)

    def state_with(self, bindings: Sequence[Binding]) -> FleetState:
        """The same with these of the bindings alone: all of them that running outages concern."""
        state = FleetState(
            RecordedFleet(
                api_version=API_VERSION,
                kind=KIND,
                control_plane=self.control_plane,
                as_of=self.now,
                clusters=tuple(self.clusters),
                bindings=tuple(each for each in bindings if isinstance(each, ResourceBinding)),
                cluster_bindings=tuple(each for each in bindings if isinstance(each, ClusterResourceBinding)),
                outages=tuple(self.outages or ()),
                brake=Brake() if self.brake is None else self.brake.brake,
                attention=self.attention,
                settings=self.settings,
                unseen=self.unseen,
            )
        )
        is_read = bool(self.bindings)
        now = tuple(brought_up_to_date(each, state, bindings_read=is_read) for each in state.recorded.outages)
        return FleetState(msgspec.structs.replace(state.recorded, outages=now))
