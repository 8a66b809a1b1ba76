"""The questions that may be asked of any manifest. None of these functions changes its arguments."""

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from kubeapi.codec import copy_manifest
from kubeapi.diff import is_equal
from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.unstructured import drop, int_at, list_at, text_at, value_at
from leeward.api.interpreter_config import DependentObjectReference
from leeward.api.names import LAZY_DIGEST_ANNOTATION
from leeward.api.work import AggregatedStatusItem, Component, ReplicaRequirements, is_custom
from leeward.core.interpreter.dependencies import in_order
from leeward.core.interpreter.kinds import rules_of
from leeward.core.interpreter.resource_health import ResourceHealth
from leeward.core.interpreter.rules import InterpretationError


class ReplicaInterpretation(NamedTuple):
    """The pods that a template asks for and what each needs, or the components of a kind that has several templates."""

    replicas: int = 0
    requirements: ReplicaRequirements | None = None
    components: tuple[Component, ...] = ()


_OF_THE_CONTROL_PLANE = (
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generation",
    "managedFields",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
)


def replicas_of(template: ReadOnlyManifest) -> tuple[int, ReplicaRequirements | None]:
    """Number of replicas that the template asks for, and what each needs; `(0, None)` for kinds without replicas.

    Raises: ValueError for a quantity, DecodeError for an affinity or toleration that cannot be read.
    """
    rule = rules_of(template).replicas
    return (0, None) if rule is None else rule(template)


def has_dependencies(template: ReadOnlyManifest) -> bool:
    """Tells whether anything is known of what templates of this kind need."""
    return rules_of(template).dependencies is not None


def lacks_health_rule(template: ReadOnlyManifest) -> bool:
    """Tells whether nothing built in says when such an object does its work, though somebody defined its kind.

    What Kubernetes itself has no rule for (a ConfigMap, a Role) does nothing that could fail.
    """
    return is_defined(template) and rules_of(template).is_healthy is None


def is_defined(manifest: ReadOnlyManifest) -> bool:
    """Tells whether somebody defined its kind."""
    return is_custom(str(manifest.get("apiVersion", "")))


def why_not_judged(kind: str) -> str:
    """Sentence on what it means that nothing says when an object of the kind does its work, and the way out."""
    return (
        f"nothing says when a {kind} is healthy, so an eviction of it waits for a person. A "
        "ResourceInterpreterCustomization with healthInterpretation says it, or a condition Ready or Available"
    )


def components_of(template: ReadOnlyManifest) -> tuple[Component, ...] | None:
    """The pod templates of a kind that has several; None for kinds without a rule. Raises: InterpretationError."""
    rule = rules_of(template).components
    return None if rule is None else rule(template)


def replica_interpretation(template: ReadOnlyManifest, multiple_pod_templates: bool = False) -> ReplicaInterpretation:
    """`multiple_pod_templates` is the gate MultiplePodTemplatesScheduling: components come instead of replicas.

    Raises: ValueError, DecodeError.
    """
    components = components_of(template) if multiple_pod_templates else None
    return (
        ReplicaInterpretation(*replicas_of(template))
        if components is None
        else ReplicaInterpretation(0, None, components)
    )


def dependencies_of(template: ReadOnlyManifest) -> list[DependentObjectReference]:
    """The objects that the template needs beside it, each once, in a stable order; none for kinds without a rule."""
    rule = rules_of(template).dependencies
    return [] if rule is None else in_order(rule(template))


def revise_replicas(manifest: ReadOnlyManifest, replicas: int) -> Manifest:
    """The manifest with another number of replicas; a kind without replicas is left as it is."""
    revised = copy_manifest(manifest)
    rule = rules_of(manifest).revise
    if rule is not None:
        rule(revised, replicas)
    return revised


def reflect_status(observed: ReadOnlyManifest) -> Any:
    """Status of a member object as the control plane is told; None when it has none."""
    status = observed.get("status")
    rule = rules_of(observed).reflect
    if status is None or rule is None:
        return status
    return rule(observed)


def health_of(observed: ReadOnlyManifest, *, has_status: bool = False) -> ResourceHealth:
    """`HEALTHY` also for kinds without a rule, as Karmada's work status controller reports them.

    `has_status`: the kind has a status subresource. A custom resource that has one, and no rule, is judged by its
    conditions alone. `UNKNOWN` when nothing can be made of the object: it is neither healthy nor ill.
    """
    rule = rules_of(observed).is_healthy
    if has_status and lacks_health_rule(observed):
        return _health_by_conditions(observed)
    try:
        return ResourceHealth.HEALTHY if rule is None or rule(observed) else ResourceHealth.UNHEALTHY
    except InterpretationError:
        return ResourceHealth.UNKNOWN


def _health_by_conditions(observed: ReadOnlyManifest) -> ResourceHealth:
    """Health by the condition Ready, else Available, of the object's present generation (as kstatus reads Ready)."""
    conditions = {text_at(each, "type"): each for each in list_at(observed, "status", "conditions")}
    told = conditions.get("Ready") or conditions.get("Available")
    generation = int_at(observed, "metadata", "generation")
    seen = [value_at(each, "observedGeneration") for each in (told, observed.get("status"))]
    if told is None or any(isinstance(each, int) and each < generation for each in seen):
        return ResourceHealth.UNKNOWN
    judged = {"True": ResourceHealth.HEALTHY, "False": ResourceHealth.UNHEALTHY}
    return judged.get(text_at(told, "status"), ResourceHealth.UNKNOWN)


def aggregate_status(template: ReadOnlyManifest, items: Sequence[AggregatedStatusItem]) -> Manifest | None:
    """The template with the status that its copies have together; None when there is nothing to change."""
    rule = rules_of(template).aggregate
    status = None if rule is None else rule(template, items)
    if status is None or is_equal(_says(status), _says(template.get("status"))):
        return None
    return {**template, "status": status}


def retain(desired: ReadOnlyManifest, observed: ReadOnlyManifest) -> Manifest:
    """`desired` with the fields of its kind that the member owns, as they are there."""
    retained = copy_manifest(desired)
    rule = rules_of(desired).retain
    if rule is not None:
        rule(retained, observed)
    return retained


def prune(manifest: ReadOnlyManifest) -> Manifest:
    """Manifest that may be propagated: without status and without what the control plane itself has put in."""
    pruned = copy_manifest(manifest)
    pruned.pop("status", None)
    metadata = value_at(pruned, "metadata")
    if isinstance(metadata, dict):
        for field in _OF_THE_CONTROL_PLANE:
            cast(Manifest, metadata).pop(field, None)
        drop(pruned, "metadata", "annotations", LAZY_DIGEST_ANNOTATION)
    rule = rules_of(manifest).prune
    if rule is not None:
        rule(pruned)
    return pruned


def _says(value: Any) -> Any:
    """`value` without members that are empty or zero, which in Kubernetes say the same as their absence."""
    if not isinstance(value, dict):
        return value
    told = {key: _says(item) for key, item in cast(Manifest, value).items()}
    return {key: item for key, item in told.items() if item not in (None, 0, "", [], {})} or None
