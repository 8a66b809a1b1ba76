"""Templates without a binding: the policy that nearly selects one and why not, or that there is no such template."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kubeapi.meta import ReadOnlyManifest
from kubeapi.resource import Resource
from leeward.api.policy import AnyPropagationPolicy, ResourceSelector
from leeward.api.resource import (
    CLUSTER_OVERRIDE_POLICIES,
    CLUSTER_PROPAGATION_POLICIES,
    OVERRIDE_POLICIES,
    PROPAGATION_POLICIES,
)
from leeward.client import Client, NotFound, WorldError
from leeward.core.propagation.matching import NO_MATCH, resource_precision, selector_priority
from leeward.runtime.discovery import Discovery


class NearMiss(NamedTuple):
    """Selector of a policy that misses the template: `distance` counts from the nearest on, `why` is a clause, and
    `way_out` a command or a change."""

    distance: int
    why: str
    way_out: str


async def why_unclaimed(client: Client, kinds: Sequence[str], name: str, namespace: str) -> str:
    """Sentences on a template by the lower-case names that its kind may have. Raises: WorldError."""
    found = await _template(client, kinds, name, namespace)
    if isinstance(found, str):
        return found
    metadata: ReadOnlyManifest = found["metadata"]
    there = metadata.get("namespace", "")
    called = f"{found['kind']} {there}/{name}" if there else f"{found['kind']} {name}"
    local = (await client.list(PROPAGATION_POLICIES, there)).items if there else ()
    policies: list[AnyPropagationPolicy] = [*local, *(await client.list(CLUSTER_PROPAGATION_POLICIES)).items]
    for policy in policies:
        if selector_priority(found, policy.spec, policy.namespace) > NO_MATCH:
            return f"{called} has no binding yet: {await _waits(client, policy)}"
    misses = [(miss, policy) for policy in policies for miss in _misses(found, policy)]
    if not misses:
        return f"{called} is there, and no policy selects its kind: name it in the resourceSelectors of a policy"
    miss, policy = min(misses, key=lambda each: (each[0].distance, each[1].name))
    return f"{called} is there, and no policy selects it. {_called(policy)} nearly does: {miss.why}. {miss.way_out}"


async def _template(client: Client, kinds: Sequence[str], name: str, namespace: str) -> ReadOnlyManifest | str:
    """The template, or a sentence that it is not there. Raises: WorldError."""
    discovery, kind = Discovery(client), ""
    for enablement in (await discovery.offer()).enablements:
        if enablement.group_version.partition("/")[0].endswith(".karmada.io"):
            continue
        for offered in enablement.resources:
            if offered.kind.lower() not in kinds:
                continue
            kind = offered.kind
            resource = await discovery.resource(enablement.group_version, kind)
            try:
                found = await client.get(resource, name, namespace if resource.namespaced else "")
            except NotFound:
                continue
            return {**found, "apiVersion": enablement.group_version, "kind": kind}
    if not kind:
        return f"this control plane serves no kind {kinds[0]!r}: `kubectl api-resources` lists them"
    return (
        f"there is no {kind} {name} in namespace {namespace} (`kubectl get {kinds[0]} -A` lists all; "
        "-n chooses another namespace)"
    )


async def _waits(client: Client, policy: AnyPropagationPolicy) -> str:
    """Raises: WorldError."""
    if policy.metadata.deletion_timestamp is not None:
        return f"{_called(policy)} selects it, and is being deleted"
    overrides: Resource[object] = OVERRIDE_POLICIES if policy.namespace else CLUSTER_OVERRIDE_POLICIES
    for name in policy.spec.dependent_overrides:
        try:
            await client.get(overrides, name, policy.namespace)
        except NotFound:
            return (
                f"{_called(policy)} selects it, and waits for the dependent override {name}. Create the "
                f"{overrides.kind} {name}, or take it out of spec.dependentOverrides"
            )
    return f"{_called(policy)} selects it. If that lasts, `leeward status` tells whether the controllers are at work"


def _called(policy: AnyPropagationPolicy) -> str:
    kind = PROPAGATION_POLICIES.kind if policy.namespace else CLUSTER_PROPAGATION_POLICIES.kind
    return f"{kind} {'/'.join(filter(None, (policy.namespace, policy.name)))}"


def _misses(template: ReadOnlyManifest, policy: AnyPropagationPolicy) -> Iterator[NearMiss]:
    kind = str(template["kind"])
    for selector in policy.spec.resource_selectors:
        if selector.kind == kind and resource_precision(template, selector, policy.namespace) == NO_MATCH:
            yield _miss(template, selector, policy)


def _miss(template: ReadOnlyManifest, selector: ResourceSelector, policy: AnyPropagationPolicy) -> NearMiss:
    metadata: ReadOnlyManifest = template["metadata"]
    kind, name, namespace = str(template["kind"]), str(metadata["name"]), str(metadata.get("namespace", ""))
    api_version = str(template["apiVersion"])
    add = f"Add a selector with the name {name} to its resourceSelectors"
    wanted = selector.namespace or policy.namespace
    if selector.api_version != api_version:
        why = f"it selects {selector.api_version}, and this is of {api_version}"
        return NearMiss(2, why, f"Mend the selector's apiVersion: {api_version}")
    if wanted and wanted != namespace:
        return NearMiss(3, f"it selects in namespace {wanted} only", add)
    if selector.name:
        return NearMiss(1, f"it selects the name {selector.name}", add)
    labels = selector.label_selector.match_labels if selector.label_selector is not None else {}
    given = {str(key): str(value) for key, value in (metadata.get("labels") or {}).items()}
    lacking = [f"{key}={value}" for key, value in labels.items() if given.get(key) != value]
    if not lacking:
        return NearMiss(0, "its labels do not match the selector's matchExpressions", add)
    has = ", ".join(f"{key}={given[key]}" for key in labels if key in given)
    where = f" -n {namespace}" if namespace else ""
    command = f"`kubectl label {kind.lower()} {name}{where} --overwrite {' '.join(lacking)}`"
    why = f"it asks for the label {', '.join(lacking)}, and the template has {has or 'no such label'}"
    return NearMiss(0, why, f"{command} lets it")


async def told_unclaimed(client: Client, kinds: Sequence[str], name: str, namespace: str) -> str:
    """Sentences on the template; empty where nobody could look."""
    try:
        return await why_unclaimed(client, kinds, name, namespace)
    except WorldError:
        return ""
