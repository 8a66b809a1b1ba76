"""Ordinals of a StatefulSet over clusters: each cluster numbers its Pods from a start of its own.

A template asks for that with the annotation `leeward.dev/ordinals: ByCluster`. A cluster has a slot of 1,000 ordinals:
the Pods of `db` are `db-1000`, `db-1001`, ... in one cluster, and `db-2000`, ... in another. The slot of a cluster is
the same for all StatefulSets, and stays when the cluster leaves: a copy that returns finds its claims by their names.

A copy keeps the ordinals with which it was made, as its Work tells: other ordinals would be other Pods with empty
claims. So the annotation counts when the binding is made, and changes nothing later (Holds: S12).

Kubernetes: `spec.ordinals.start`, which API servers keep from 1.27 on; an older one drops it without a word.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Final

from kubeapi.meta import Manifest, ReadOnlyManifest, annotations_of
from kubeapi.unstructured import int_at, mapping_at, with_annotations
from leeward.api.cluster import Cluster
from leeward.api.ordinals import FIRST_ORDINAL_ANNOTATION, ORDINALS_ANNOTATION, is_numbered
from leeward.api.work import Binding, Work
from leeward.core.overrides.rendering import Overridden, OverrideFailure

SLOT: Final = 1_000
"""Ordinals of a cluster, and so the most replicas there."""
FIRST_VERSION: Final = (1, 27)
"""Kubernetes that keeps `spec.ordinals`."""


def first_ordinals(present: Mapping[str, Work]) -> dict[str, int]:
    """The first ordinal of each copy that has a Work; 0 for one that was made without a slot."""
    manifests = {cluster: work.spec.workload.manifests for cluster, work in present.items()}
    return {cluster: _first_ordinal(found[0]) for cluster, found in manifests.items() if found}


def without_slot(binding: Binding, wanted: Collection[str], present: Mapping[str, Work]) -> list[str]:
    """Clusters in which a copy is to be made, and has to begin with the slot of its cluster."""
    is_asked = ORDINALS_ANNOTATION in binding.metadata.annotations
    return sorted({*wanted} - first_ordinals(present).keys()) if is_asked else []


def next_slots(clusters: Collection[str], slots: Mapping[str, int]) -> dict[str, int]:
    """A slot for each cluster that has none, from 1 on; 0 is that of copies that were made without."""
    missing = sorted({*clusters} - slots.keys())
    return {cluster: max(slots.values(), default=0) + number for number, cluster in enumerate(missing, 1)}


def parse_slots(data: Mapping[str, str]) -> dict[str, int]:
    """Slots by cluster. Raises: ValueError, which names the cluster, for a slot that is no number, or given twice."""
    slots = dict[str, int]()
    for cluster, text in sorted(data.items()):
        if not text.isascii() or not text.isdecimal() or not 0 < len(text) <= 6 or int(text) == 0:
            raise ValueError(f"{cluster}: {text[:20]!r} is no slot: write a number from 1 to 999999")
        if other := next((name for name, slot in slots.items() if slot == int(text)), ""):
            raise ValueError(f"{cluster}: {other} has slot {text} too: write another number")
        slots[cluster] = int(text)
    return slots


def with_ordinals(
    manifests: Mapping[str, Overridden],
    present: Mapping[str, Work],
    slots: Mapping[str, int],
    clusters: Mapping[str, Cluster],
) -> dict[str, Overridden | OverrideFailure]:
    """The manifests with the first ordinal of each copy: that of its Work, else the slot of its cluster in `slots`."""
    firsts = first_ordinals(present)
    numbered = dict[str, Overridden | OverrideFailure]()
    for name, rendered in manifests.items():
        first, cluster = firsts.get(name, slots.get(name, 0) * SLOT), clusters.get(name)
        why = _why_not(rendered.manifest, cluster) if first else ""
        numbered[name] = OverrideFailure(None, f"{ORDINALS_ANNOTATION}: {why}") if why else _numbered(rendered, first)
    return numbered


def with_kept_ordinals(desired: Manifest, observed: ReadOnlyManifest) -> Manifest:
    """The object to write over a StatefulSet that a member has, which keeps its ordinals though no Work told of them:
    it was there before, or a restored hub has other slots. Its spec is the truth, not its mark. Holds: S12."""
    marked, asked = _first_ordinal(observed), _first_ordinal(desired)
    if not is_numbered(desired) or not (marked or asked):
        return desired
    there, own = _start(observed), _start(desired) - asked
    first = marked if 0 < marked <= there else there - own
    if first == asked:
        return desired
    marks = {name: value for name, value in annotations_of(desired).items() if name != FIRST_ORDINAL_ANNOTATION}
    marks |= {FIRST_ORDINAL_ANNOTATION: str(first)} if first > 0 else {}
    spec = {name: value for name, value in mapping_at(desired, "spec").items() if name != "ordinals"}
    spec |= {"ordinals": {"start": own + first}} if own + first else {}
    return {**desired, "metadata": {**mapping_at(desired, "metadata"), "annotations": marks}, "spec": spec}


def _start(manifest: ReadOnlyManifest) -> int:
    return int_at(manifest, "spec", "ordinals", "start")


def _why_not(manifest: ReadOnlyManifest, cluster: Cluster | None) -> str:
    if (replicas := int_at(manifest, "spec", "replicas")) > SLOT:
        return f"{replicas} replicas are more than the {SLOT} ordinals of a cluster: let more clusters share them"
    version = cluster.status.kubernetes_version if cluster is not None else ""
    major, _, rest = version.lstrip("v").partition(".")
    minor = rest.partition(".")[0]
    numbers = [int(text) for text in (major, minor) if text.isdecimal() and len(text) < 19]
    if len(numbers) == 2 and (numbers[0], numbers[1]) < FIRST_VERSION:
        return f"Kubernetes {version} drops spec.ordinals: place it in clusters of 1.27 or later"
    return ""


def _numbered(rendered: Overridden, first: int) -> Overridden:
    if not first:
        return rendered
    start = first + _start(rendered.manifest)
    spec = {**mapping_at(rendered.manifest, "spec"), "ordinals": {"start": start}}
    manifest: Manifest = {**rendered.manifest, "spec": spec}
    return replace(rendered, manifest=with_annotations(manifest, {FIRST_ORDINAL_ANNOTATION: str(first)}))


def _first_ordinal(manifest: ReadOnlyManifest) -> int:
    text = annotations_of(manifest).get(FIRST_ORDINAL_ANNOTATION, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 9 else 0
