"""Failures of overrides, told: the condition `leeward.dev/OverrideFailed` of a binding.

The Work of a cluster whose overrides fail stays as it is, or is not made; those of other clusters are written.
"""

from collections.abc import Mapping
from typing import Final

from leeward.api.meta import Condition
from leeward.api.names import OVERRIDE_FAILED_CONDITION
from leeward.core.overrides.override_rule import AnyOverridePolicy
from leeward.core.overrides.rendering import OverrideFailure

MAX_MESSAGE_CHARACTERS: Final = 1_024


def overrides_failed(failures: Mapping[str, OverrideFailure]) -> Condition | None:
    """Condition of a binding with these failures by cluster; None where there are none."""
    clusters: dict[str, list[str]] = {}
    for cluster, failure in sorted(failures.items()):
        clusters.setdefault(describe_failure(failure), []).append(cluster)
    if not clusters:
        return None
    told = "; ".join(f"in {', '.join(names)}: {why}" for why, names in clusters.items())
    message = f"Left as it is {told}"
    if len(message) > MAX_MESSAGE_CHARACTERS:
        message = message[: MAX_MESSAGE_CHARACTERS - 3] + "..."
    return Condition(OVERRIDE_FAILED_CONDITION, "True", "ApplyOverridePolicyFailed", message)


def describe_failure(failure: OverrideFailure) -> str:
    return f"{describe_policy(failure.policy)}: {failure.message}" if failure.policy is not None else failure.message


def describe_policy(policy: AnyOverridePolicy) -> str:
    """Kind, namespace and name of the policy."""
    kind = type(policy).__name__
    return f"{kind} {policy.namespace}/{policy.name}" if policy.namespace else f"{kind} {policy.name}"
