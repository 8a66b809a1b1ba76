"""Steps of users about who decides over applications: policies that take over what others have claimed, and quotas."""

from typing import Literal

from simulator.histories.step import UserStep
from simulator.histories.user_steps import Plan


class Preempt(UserStep, frozen=True, kw_only=True):
    """Another policy for an application is made, or changed. It has this priority, where its first one has none;
    `preempts`: it asks for what that one has claimed."""

    app: str
    name: str
    plan: Plan
    priority: int = 1
    preempts: bool = True


class Retreat(UserStep, frozen=True, kw_only=True):
    """Deletion of that policy."""

    name: str


class LimitUsage(UserStep, frozen=True, kw_only=True):
    """The quota of all applications is made, or changed: how many CPUs they may use, and where clusters have a limit of
    their own beside it, which is a wide one."""

    cpu: int
    assigned: tuple[str, ...] = ()


class UnlimitUsage(UserStep, frozen=True, kw_only=True):
    """The quota is deleted."""


class SteerRollout(UserStep, frozen=True, kw_only=True):
    """A person holds the rollout of an application, lets it go on, or takes it back."""

    app: str
    wish: Literal["pause", "resume", "undo"]


AnyPolicyStep = Preempt | Retreat | LimitUsage | UnlimitUsage | SteerRollout
