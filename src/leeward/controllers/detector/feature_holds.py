"""Features that bindings keep although their gates are off, for the detector: which are on for a binding, and the
condition that says so."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from controller_runtime import NEWS_SECONDS, StatusChange
from kubeapi.resource import Resource
from kubeclient import WorldError
from leeward.api.meta import find_condition
from leeward.api.names import FEATURE_HELD_CONDITION
from leeward.api.work import Binding
from leeward.core.binding_status import tell
from leeward.core.propagation.held_features import HeldFeature, features_of, held_condition
from leeward.runtime.controller_context import ControlPlane

WRITER = "resource-detector"


class FeatureHolds:
    """`switched` says of each gate whether it is on."""

    def __init__(self, plane: ControlPlane, switched: Mapping[HeldFeature, bool]) -> None:
        self._plane = plane
        self._switched = switched

    def is_on(self, feature: HeldFeature, binding: Binding | None) -> bool:
        """Tells whether what the feature gives is written into this binding."""
        return self._switched[feature] or (binding is not None and feature in features_of(binding.spec))

    def tell(self, kind: Resource[Any], binding: Binding, on_failure: Callable[[WorldError], None]) -> None:
        condition = held_condition(each for each in features_of(binding.spec) if not self._switched[each])
        if condition is None and find_condition(binding.status.conditions, FEATURE_HELD_CONDITION) is None:
            return
        change = partial(tell, told={FEATURE_HELD_CONDITION: condition}, now=self._plane.clock.now())
        self._plane.statuses.of(kind).post(binding, WRITER, StatusChange(change, on_failure), within=NEWS_SECONDS)
