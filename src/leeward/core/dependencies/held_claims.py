"""Claims that a template names, and the clusters that hold them, as the control plane knows it.

The detector notes the names on the binding. The holders follow from the claim's own binding: its Works, the reports of
its clusters, and its `requiredBy`. Of a kind whose dependencies somebody else tells, the claims are those that list it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from kubeapi.meta import ReadOnlyManifest
from leeward.api.names import NAMED_CLAIMS_ANNOTATION, binding_name
from leeward.api.work import Binding, ResourceBinding, Work
from leeward.core.eviction.volumes import claims_annotation
from leeward.core.interpreter import dependencies_of, has_dependencies
from leeward.core.scheduling.claim_locality import HeldClaims, clusters_holding

CLAIM_KIND = "PersistentVolumeClaim"
MOST = 100
"""Number of claims that are noted of a template."""


def claim_annotations(template: ReadOnlyManifest) -> dict[str, str]:
    """Annotations of a binding about claims: those that its template names, and those of a StatefulSet."""
    names = [each.name for each in dependencies_of(template) if each.kind == CLAIM_KIND]
    named = {NAMED_CLAIMS_ANNOTATION: ",".join(names[:MOST])} if names else {}
    return {**claims_annotation(template), **named}


def named_claims(binding: Binding) -> tuple[str, ...]:
    return tuple(filter(None, binding.metadata.annotations.get(NAMED_CLAIMS_ANNOTATION, "").split(",", MOST)[:MOST]))


def dependants_of_claim(binding: ResourceBinding) -> Iterator[tuple[str, str]]:
    """Namespace and name of each binding that needs a claim; none for bindings of other kinds."""
    if binding.spec.resource.kind == CLAIM_KIND:
        yield from ((each.namespace, each.name) for each in binding.spec.required_by)


def held_claims(
    binding: Binding,
    listing: Callable[[], Iterable[ResourceBinding]],
    find: Callable[[str], Binding | None],
    works_of: Callable[[str], Mapping[str, Work]],
) -> HeldClaims:
    """The clusters that hold each claim of a binding's template, as far as any are known.

    `listing` are the claims' bindings that list it; `find` is a binding of its namespace by name, `works_of` are the
    Works of one. These remain where somebody deletes a claim's binding (`core.left_works`).
    """
    resource = binding.spec.resource
    claims = {name: find(binding_name(CLAIM_KIND, name)) for name in named_claims(binding)}
    if not has_dependencies({"apiVersion": resource.api_version, "kind": resource.kind}):
        claims |= {each.spec.resource.name: each for each in listing()}
    dependant = (binding.namespace, binding.name)
    held: dict[str, tuple[str, ...]] = {}
    for name, claim in claims.items():
        lives = claim is not None and claim.metadata.deletion_timestamp is None
        told = (claim.status.aggregated_status, claim.spec.required_by) if claim is not None and lives else ((), ())
        held[name] = clusters_holding(works_of(binding_name(CLAIM_KIND, name)), *told, dependant)
    return {name: clusters for name, clusters in held.items() if clusters}
