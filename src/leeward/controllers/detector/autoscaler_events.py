"""Autoscalers that fight with the control plane, told once each: both would decide how many replicas a member has.

It looks at what a propagated HorizontalPodAutoscaler names. Where the mark of scale targets is kept
(`autoscaled_templates.py`), there is nothing to tell. Karmada says nothing.
"""

from datetime import datetime, timedelta

from controller_runtime import Key, keep_latest, key_of
from kubeapi.meta import Manifest, parse_time
from kubeapi.resource import Resource
from leeward.api.names import binding_name
from leeward.api.resource import RESOURCE_BINDINGS
from leeward.core.propagation.autoscaled import describe_fight, scale_target
from leeward.runtime.controller_context import ControlPlane, Recorder
from leeward.runtime.templates import TemplateKey, Templates

AUTOSCALER_KIND = "HorizontalPodAutoscaler"
LOOK_AGAIN, NEW = timedelta(seconds=30), timedelta(minutes=5)
"""Pause before a new autoscaler is looked at again, and the age up to which it is new: what it names may come after
it."""
MOST_TOLD = 4_096


class AutoscalerEvents:
    """`enabled` False: somebody marks the targets."""

    def __init__(self, plane: ControlPlane, recorder: Recorder, templates: Templates, *, enabled: bool) -> None:
        self._clock = plane.clock
        self._recorder = recorder
        self._templates = templates
        self._bindings = plane.informers.of(RESOURCE_BINDINGS)
        self._enabled = enabled
        self._told: dict[Key, str] = {}
        """The uid of the autoscaler."""

    def forget(self, key: TemplateKey) -> None:
        if key.kind == AUTOSCALER_KIND:
            self._told.pop(key.key, None)

    def look(self, resource: Resource[Manifest], template: Manifest) -> datetime | None:
        """Tells of a propagated autoscaler whose target has two masters; when to look again."""
        key, uid = key_of(template), template["metadata"].get("uid", "")
        if not self._enabled or template["kind"] != AUTOSCALER_KIND or self._told.get(key) == uid:
            return None
        kind, name = scale_target(template)
        targets = self._templates.of(*kind)
        target = targets.get(name, key.namespace) if targets is not None else None
        binding = self._bindings.get(binding_name(kind[1], name), key.namespace)
        fight = describe_fight(target, binding) if target is not None and binding is not None else ""
        if fight:
            self._told[key] = uid
            keep_latest(self._told, MOST_TOLD)
            self._recorder.warning(resource, template, "ScaleTargetNotRetained", fight)
            return None
        made, now = template["metadata"].get("creationTimestamp"), self._clock.now()
        return now + LOOK_AGAIN if made and now - parse_time(made) < NEW else None
