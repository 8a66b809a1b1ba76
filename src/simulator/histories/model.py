"""A history as data: members, what users do, and what fails. Times are seconds since the world began.

A step stands for itself, so that any of them can be left out and the rest still makes sense: what fails says how long
it lasts and mends itself, and what a user does to something that is not there does nothing.
"""

from typing import Literal

import msgspec

from simulator.histories.fault_steps import (
    AgentIsKilled,
    AnyFault,
    ApiServerIsKilled,
    ClockIsWrong,
    ControllersAreKilled,
    CutOff,
    HubIsRestored,
    HubIsSuspended,
    LeaderIsPaused,
    MemberComesBackOld,
    MemberFlaps,
    MemberHangs,
    MemberIsKilled,
    MemberIsSlow,
    MemberIsUnready,
    MemberLies,
    MemberLosesData,
    MemberRefusesWrites,
    MemberShrinks,
    MemberStops,
    NodesAreCordoned,
    Partition,
    ShardIsPaused,
    Storm,
    TwoLeaders,
)
from simulator.histories.policy_steps import AnyPolicyStep, LimitUsage, Preempt, Retreat, SteerRollout, UnlimitUsage
from simulator.histories.propagation_steps import (
    AnyPropagationStep,
    BreakOverride,
    BreakScript,
    Explain,
    Override,
    Provide,
    Provided,
    Question,
    Read,
    Trouble,
    Unoverride,
)
from simulator.histories.step import Fault, Step, UserStep
from simulator.histories.user_steps import (
    AnyApplicationStep,
    Autoscale,
    Deploy,
    Division,
    Drain,
    GitWrite,
    Maintain,
    Meddle,
    Operated,
    Own,
    Plan,
    Rebalance,
    Recreate,
    RecreatePolicy,
    Rejoin,
    Relabel,
    Release,
    Replan,
    RestartPod,
    Scale,
    Share,
    Shared,
    Squat,
    Staging,
    Suspend,
    SyncClusters,
    TaintOnOutage,
    Task,
    Unshare,
    Withdraw,
)

__all__ = [
    "LASTING",
    "AgentIsKilled",
    "AnyFault",
    "AnyStep",
    "AnyUserStep",
    "ApiServerIsKilled",
    "Autoscale",
    "BreakOverride",
    "BreakScript",
    "ClockIsWrong",
    "ControllersAreKilled",
    "CutOff",
    "Deploy",
    "Division",
    "Drain",
    "Explain",
    "Fault",
    "GitWrite",
    "History",
    "HubIsRestored",
    "HubIsSuspended",
    "LeaderIsPaused",
    "LimitUsage",
    "Maintain",
    "Meddle",
    "MemberComesBackOld",
    "MemberFlaps",
    "MemberHangs",
    "MemberIsKilled",
    "MemberIsSlow",
    "MemberIsUnready",
    "MemberLies",
    "MemberLosesData",
    "MemberRefusesWrites",
    "MemberShrinks",
    "MemberStops",
    "Mode",
    "NodesAreCordoned",
    "Operated",
    "Override",
    "Own",
    "Pace",
    "Partition",
    "Plan",
    "Preempt",
    "Provide",
    "Provided",
    "Question",
    "Read",
    "Rebalance",
    "Recreate",
    "RecreatePolicy",
    "Rejoin",
    "Relabel",
    "Release",
    "Replan",
    "RestartPod",
    "Retreat",
    "Scale",
    "ShardIsPaused",
    "Share",
    "Shared",
    "Squat",
    "Staging",
    "SteerRollout",
    "Step",
    "Storm",
    "Suspend",
    "SyncClusters",
    "TaintOnOutage",
    "Task",
    "Trouble",
    "TwoLeaders",
    "UnlimitUsage",
    "Unoverride",
    "Unshare",
    "UserStep",
    "Withdraw",
    "read_history",
    "write_history",
]

Mode = Literal["Push", "Pull"]
Pace = Literal["brisk", "karmada"]
AnyUserStep = AnyApplicationStep | AnyPropagationStep | AnyPolicyStep
AnyStep = AnyUserStep | AnyFault
LASTING = Maintain | Drain | SyncClusters | Suspend | Rejoin | BreakOverride | BreakScript
"""Steps that take a user's time, while others go on."""


class History(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One history. `sync_seconds` is how long a commit of the control plane's store takes; `revisions` how many it
    keeps to watch from, 0 for as many as in production; `evictions_per_second` is --resource-eviction-rate, 0 for
    none."""

    seed: int
    members: tuple[tuple[str, Mode], ...]
    steps: tuple[AnyStep, ...]
    pace: Pace = "brisk"
    sync_seconds: float = 0.0
    revisions: int = 0
    evictions_per_second: float = 0.0

    @property
    def ends_at(self) -> float:
        """Instant at which the last fault is over."""
        return max((step.ends_at for step in self.steps), default=0.0)


def read_history(text: str | bytes) -> History:
    """Raises: msgspec.ValidationError, which names the field."""
    return msgspec.json.decode(text, type=History)


def write_history(history: History) -> bytes:
    """Writes a history as JSON, one step to a line."""
    return msgspec.json.format(msgspec.json.encode(history), indent=1)
