"""Annotations of StatefulSets that number their Pods by cluster (`core/execution/first_ordinals`)."""

from typing import Final

from kubeapi.meta import ReadOnlyManifest, annotations_of
from kubeapi.unstructured import text_at
from leeward.api.names import VOLUMES_FOLLOW_ANNOTATION
from leeward.api.work import Binding

ORDINALS_ANNOTATION: Final = "leeward.dev/ordinals"
"""Annotation on a StatefulSet's template, and on a binding that was made while it was there: `ByCluster`. One that
comes or goes later changes nothing: Pods would get other names, and empty claims."""
BY_CLUSTER: Final = "ByCluster"
FIRST_ORDINAL_ANNOTATION: Final = "leeward.dev/first-ordinal"
"""Annotation on a StatefulSet in a member: the beginning of its cluster's slot."""


def is_numbered(template: ReadOnlyManifest) -> bool:
    return (text_at(template, "apiVersion"), text_at(template, "kind")) == ("apps/v1", "StatefulSet")


def numbers_by_cluster(template: ReadOnlyManifest) -> bool:
    return is_numbered(template) and annotations_of(template).get(ORDINALS_ANNOTATION) == BY_CLUSTER


def volumes_follow(binding: Binding) -> bool:
    """Tells whether all its clusters have the volumes of a binding. With ordinals by cluster they have other names."""
    annotations = binding.metadata.annotations
    return annotations.get(VOLUMES_FOLLOW_ANNOTATION) == "true" and ORDINALS_ANNOTATION not in annotations
