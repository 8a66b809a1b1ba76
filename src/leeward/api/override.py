"""`policy.karmada.io/v1alpha1`: what is changed in a template for the clusters that it goes to.

A field that is not known here may say how something is changed: a policy that has one cannot be read, and what was made
with it stays as it is.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from kubeapi.meta import Object, TypedObject
from leeward.api.meta import ON_WIRE
from leeward.api.policy import ClusterAffinity, ResourceSelector

OverrideOperator = Literal["add", "remove", "replace"]


class LabelAnnotationOverrider(Object, frozen=True, forbid_unknown_fields=True):
    operator: OverrideOperator
    value: Annotated[Mapping[str, str], ON_WIRE] = {}
    """Karmada before 1.12 stored some without it: they change nothing."""


class ImagePredicate(Object, frozen=True, forbid_unknown_fields=True):
    """Selects an image by its JSON pointer; without one, the images of all containers are meant."""

    path: str


class ImageOverrider(Object, frozen=True, forbid_unknown_fields=True):
    component: Literal["Registry", "Repository", "Tag"]
    operator: OverrideOperator
    value: str = ""
    predicate: ImagePredicate | None = None


class CommandArgsOverrider(Object, frozen=True, forbid_unknown_fields=True):
    container_name: str
    operator: Literal["add", "remove"]
    value: tuple[str, ...] = ()


class PlaintextOverrider(Object, frozen=True, forbid_unknown_fields=True):
    """A JSON patch operation; `path` is a JSON pointer."""

    path: str
    operator: OverrideOperator
    value: Any = None


class FieldPatchOperation(Object, frozen=True, forbid_unknown_fields=True):
    """A JSON patch operation inside a document that is embedded in a field as text."""

    sub_path: str
    operator: OverrideOperator
    value: Any = None


class FieldOverrider(Object, frozen=True, forbid_unknown_fields=True):
    """Changes a JSON or YAML document that the string at `field_path` holds; exactly one of the two is set."""

    field_path: str
    json: tuple[FieldPatchOperation, ...] = ()
    yaml: tuple[FieldPatchOperation, ...] = ()


class Overriders(Object, frozen=True, forbid_unknown_fields=True):
    plaintext: tuple[PlaintextOverrider, ...] = ()
    image_overrider: tuple[ImageOverrider, ...] = ()
    command_overrider: tuple[CommandArgsOverrider, ...] = ()
    args_overrider: tuple[CommandArgsOverrider, ...] = ()
    labels_overrider: tuple[LabelAnnotationOverrider, ...] = ()
    annotations_overrider: tuple[LabelAnnotationOverrider, ...] = ()
    field_overrider: tuple[FieldOverrider, ...] = ()


class RuleWithCluster(Object, frozen=True, forbid_unknown_fields=True):
    """Overriders for the clusters that match; without `target_cluster` for all."""

    overriders: Overriders
    target_cluster: ClusterAffinity | None = None


class OverrideSpec(Object, frozen=True, forbid_unknown_fields=True):
    """`target_cluster` and `overriders` are the older form of a single rule."""

    resource_selectors: tuple[ResourceSelector, ...] = ()
    override_rules: tuple[RuleWithCluster, ...] = ()
    target_cluster: ClusterAffinity | None = None
    overriders: Overriders | None = None


class OverridePolicy(TypedObject, frozen=True, kw_only=True):
    """Changes templates of its own namespace on their way to the clusters."""

    spec: OverrideSpec


class ClusterOverridePolicy(TypedObject, frozen=True, kw_only=True):
    """Changes templates of any namespace, and cluster-scoped ones, on their way to the clusters."""

    spec: OverrideSpec
