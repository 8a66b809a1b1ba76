"""Annotations of StatefulSets that number their Pods by cluster (`core/execution/first_ordinals`)."""

from typing import Final

from kubeapi.meta import ReadOnlyManifest, annotations_of
from kubeapi.unstructured import text_at

ORDINALS_ANNOTATION: Final = "leeward.dev/ordinals"
"""Annotation on a StatefulSet's template: `ByCluster`."""
BY_CLUSTER: Final = "ByCluster"
FIRST_ORDINAL_ANNOTATION: Final = "leeward.dev/first-ordinal"
"""Annotation on a StatefulSet in a member: the beginning of its cluster's slot."""


def is_numbered(template: ReadOnlyManifest) -> bool:
    return (text_at(template, "apiVersion"), text_at(template, "kind")) == ("apps/v1", "StatefulSet")


def numbers_by_cluster(template: ReadOnlyManifest) -> bool:
    return is_numbered(template) and annotations_of(template).get(ORDINALS_ANNOTATION) == BY_CLUSTER
