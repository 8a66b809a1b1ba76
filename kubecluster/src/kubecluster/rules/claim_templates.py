"""The claims of a StatefulSet: one for each ordinal and template, named `TEMPLATE-SET-ORDINAL`.

They outlive their Pods, so that an ordinal that comes back finds its data; `persistentVolumeClaimRetentionPolicy` may
say otherwise.

Kubernetes: pkg/controller/statefulset (stateful_set_utils, stateful_pod_control). Same, but that a claim which goes
with its ordinal goes when the Pod has gone, without being owned by it.
"""

from collections.abc import Iterable, Sequence

from kubeapi.codec import copy_manifest
from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.unstructured import list_at, mapping_at, text_at
from kubecluster.rules.owners import owner_reference

_POLICY = ("spec", "persistentVolumeClaimRetentionPolicy")


def claim_name(template: ReadOnlyManifest, stateful_set: ReadOnlyManifest, ordinal: int) -> str:
    return f"{template['metadata']['name']}-{stateful_set['metadata']['name']}-{ordinal}"


def render_claims(stateful_set: ReadOnlyManifest, ordinals: Iterable[int]) -> list[Manifest]:
    """All claims of these ordinals."""
    templates = list_at(stateful_set, "spec", "volumeClaimTemplates")
    return [_render(stateful_set, template, ordinal) for ordinal in ordinals for template in templates]


def claim_volumes(stateful_set: ReadOnlyManifest, ordinal: int) -> list[Manifest]:
    """The volumes of one Pod that its claims are mounted as."""
    return [
        {
            "name": template["metadata"]["name"],
            "persistentVolumeClaim": {"claimName": claim_name(template, stateful_set, ordinal)},
        }
        for template in list_at(stateful_set, "spec", "volumeClaimTemplates")
    ]


def surplus_claims(
    stateful_set: ReadOnlyManifest, wanted: Sequence[int], present: Iterable[int], claims: Iterable[Manifest]
) -> list[Manifest]:
    """Claims of ordinals that are neither wanted nor present any more, if the policy gives them up."""
    if text_at(stateful_set, *_POLICY, "whenScaled") != "Delete":
        return []
    kept = {*present, None}
    templates = list_at(stateful_set, "spec", "volumeClaimTemplates")
    prefixes = tuple(claim_name(template, stateful_set, 0)[:-1] for template in templates)
    ordinals = ((claim, _ordinal(claim, prefixes)) for claim in claims)
    return [claim for claim, ordinal in ordinals if ordinal not in kept and ordinal not in wanted]


def _ordinal(claim: ReadOnlyManifest, prefixes: tuple[str, ...]) -> int | None:
    """None for a claim of somebody else."""
    name = claim["metadata"]["name"]
    numbers = [name.removeprefix(prefix) for prefix in prefixes if name.startswith(prefix)]
    return next((int(number) for number in numbers if number.isdecimal()), None)


def _render(stateful_set: ReadOnlyManifest, template: ReadOnlyManifest, ordinal: int) -> Manifest:
    metadata, spec = mapping_at(template, "metadata"), mapping_at(template, "spec")
    labels = {**mapping_at(metadata, "labels"), **mapping_at(stateful_set, "spec", "selector", "matchLabels")}
    goes_along = text_at(stateful_set, *_POLICY, "whenDeleted") == "Delete"
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": claim_name(template, stateful_set, ordinal),
            "namespace": stateful_set["metadata"]["namespace"],
            "labels": labels,
            **({"annotations": dict(metadata["annotations"])} if metadata.get("annotations") else {}),
            **({"ownerReferences": [owner_reference(stateful_set)]} if goes_along else {}),
        },
        "spec": copy_manifest(spec),
    }
