"""Dependent overrides of propagation policies: those that must be there before a policy takes effect.

A PropagationPolicy names OverridePolicies of its own namespace, a ClusterPropagationPolicy ClusterOverridePolicies.

Karmada: pkg/util/helper/policy.go, pkg/detector; same, but what waits is looked at when they come, and not again and
again.
"""

from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

from controller_runtime import Key, key_of
from leeward.api.policy import AnyPropagationPolicy
from leeward.api.resource import CLUSTER_OVERRIDE_POLICIES, OVERRIDE_POLICIES
from leeward.runtime.controller_context import ControlPlane

W = TypeVar("W", bound=Hashable)


class DependentOverrides(Generic[W]):
    """`concerns` is told of whom waited for an override policy that is there now."""

    def __init__(self, plane: ControlPlane, concerns: Callable[[W], None]) -> None:
        self._namespaced = plane.informers.of(OVERRIDE_POLICIES)
        self._cluster_wide = plane.informers.of(CLUSTER_OVERRIDE_POLICIES)
        self._concerns = concerns
        self._waiting: dict[Key, set[W]] = {}
        self._waits_for: dict[W, Key] = {}

    def start(self) -> None:
        for policies in (self._namespaced, self._cluster_wide):
            policies.on_change(self._changed)

    async def missing(self, policy: AnyPropagationPolicy, waits: W) -> str:
        """Name of the first dependency that is not there, or empty. `waits` is told of when that comes. Raises:
        Unreachable."""
        self.forget(waits)
        if not policy.spec.dependent_overrides:
            return ""
        policies = self._namespaced if policy.namespace else self._cluster_wide
        await policies.wait_synced()
        for name in policy.spec.dependent_overrides:
            if policies.get(name, policy.namespace) is None:
                key = self._waits_for[waits] = Key(policy.namespace, name)
                self._waiting.setdefault(key, set()).add(waits)
                return name
        return ""

    def forget(self, waits: W) -> None:
        """Forgets who waited: it is gone, or asks anew."""
        key = self._waits_for.pop(waits, None)
        if key is not None:
            self._waiting[key].discard(waits)
            if not self._waiting[key]:
                del self._waiting[key]

    def _changed(self, _: Any, new: Any) -> None:
        for waiting in tuple(self._waiting.get(key_of(new), ())) if new is not None else ():
            self._concerns(waiting)
