"""A check: a rule under its own name, as it was in one version and the next."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from kubeserver.admission.pod_security.pods import Pod


class Violation(NamedTuple):
    reason: str
    detail: str

    def __str__(self) -> str:
        return f"{self.reason} ({self.detail})"


Rule = Callable[[Pod], Violation | None]


@dataclass(frozen=True, slots=True)
class Check:
    """`rules` are by the minor version of Kubernetes that they came with, ascending."""

    name: str
    rules: Mapping[int, Rule]
    replaces: str = ""
    """The check of the level below that is not asked where this one is."""

    def at(self, minor: int | None) -> Rule | None:
        """The rule as it is in a version (None: the latest); None where there was none yet."""
        known = [rule for since, rule in self.rules.items() if minor is None or since <= minor]
        return known[-1] if known else None


def unless_own_users(rule: Rule) -> Rule:
    """Rule but for Pods with users of their own: where root is nobody outside, it is not needed."""
    return lambda pod: None if pod.has_own_users else rule(pod)


def unless_windows(rule: Rule) -> Rule:
    """Rule but for Windows: what Linux alone has cannot be asked of others."""
    return lambda pod: None if pod.is_windows else rule(pod)
