"""Templates without a binding: the policy that nearly selects one and why not, or that there is no such template."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kubeapi.meta import LabelSelector, LabelSelectorRequirement, ReadOnlyManifest
from kubeapi.resource import Resource
from kubeapi.selectors import matches, selector_of
from kubeapi.untrusted import mapping_in
from kubeclient import Client, NotFound, WorldError
from leeward.api.policy import AnyPropagationPolicy, ResourceSelector
from leeward.api.resource import (
    CLUSTER_OVERRIDE_POLICIES,
    CLUSTER_PROPAGATION_POLICIES,
    OVERRIDE_POLICIES,
    PROPAGATION_POLICIES,
)
from leeward.api.work import BindingResource
from leeward.core.propagation.activation import decide_activation
from leeward.core.propagation.matching import NO_MATCH, find_policy, resource_precision, selector_priority
from leeward.core.propagation.reach import Reach, reach_problems
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
    resource = BindingResource(api_version=found["apiVersion"], kind=found["kind"], name=name, namespace=there)
    for problem in reach_problems(resource, there, Reach(), bool(there)):
        way_out = ". Create it in another namespace" if Reach().skips_namespace(there) else ""
        return f"{called} has no binding: {problem.message}{way_out}"
    local = (await client.list(PROPAGATION_POLICIES, there)).items if there else ()
    wide = (await client.list(CLUSTER_PROPAGATION_POLICIES)).items
    policies: list[AnyPropagationPolicy] = [*local, *wide]
    selecting = (each for each in policies if selector_priority(found, each.spec, each.namespace) > NO_MATCH)
    if (policy := find_policy(found, local, wide) or next(selecting, None)) is not None:
        return f"{called} has no binding yet: {await _waits(client, found, policy)}"
    misses = [(miss, policy) for policy in policies for miss in _misses(found, policy)]
    if not misses:
        return f"{called} is there, and no policy selects its kind: name it in the resourceSelectors of a policy"
    miss, policy = min(misses, key=lambda each: (each[0].distance, each[1].name))
    return f"{called} is there, and no policy selects it. {_called(policy)} nearly does: {miss.why}. {miss.way_out}"


def unclaimed_in(policies: Sequence[AnyPropagationPolicy], kinds: Sequence[str], name: str, namespace: str) -> str:
    """Sentence on a template of which a picture has no binding: its labels are not in the picture."""
    near: list[tuple[int, str]] = []
    for policy in policies:
        for selector in policy.spec.resource_selectors:
            if selector.kind.lower() not in kinds or policy.namespace not in ("", namespace):
                continue
            metadata = {"name": name, "namespace": namespace}
            template = {"apiVersion": selector.api_version, "kind": selector.kind, "metadata": metadata}
            called = f"{_called(policy)} selects {selector.kind}"
            if resource_precision(template, selector, policy.namespace) != NO_MATCH:
                return f"{_called(policy)} selects it: it was not there, or had no binding yet, when that was taken"
            if selector.name:
                near.append((1, f"{called} {selector.name}. {_miss(template, selector, policy).way_out}"))
            else:
                near.append((0, f"{called} by labels, and the labels of {name} are not in the picture"))
    return min(near)[1] if near else f"No policy in the picture selects a {kinds[0]} there"


async def _template(client: Client, kinds: Sequence[str], name: str, namespace: str) -> ReadOnlyManifest | str:
    """The template, or a sentence that it is not there. Raises: WorldError."""
    discovery, kind = Discovery(client), ""
    for enablement in (await discovery.offer()).enablements:
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


async def _waits(client: Client, template: ReadOnlyManifest, policy: AnyPropagationPolicy) -> str:
    """Raises: WorldError."""
    if policy.metadata.deletion_timestamp is not None:
        return f"{_called(policy)} selects it, and is being deleted"
    overrides: Resource[Any] = OVERRIDE_POLICIES if policy.namespace else CLUSTER_OVERRIDE_POLICIES
    for name in policy.spec.dependent_overrides:
        try:
            await client.get(overrides, name, policy.namespace)
        except NotFound:
            return (
                f"{_called(policy)} selects it, and waits for {overrides.kind} {name}, which spec.dependentOverrides "
                f"names. Create {overrides.kind} {name}, or take the name out of spec.dependentOverrides"
            )
    if decide_activation(template, policy, None).waits:
        return (
            f"{_called(policy)} selects it, and its activationPreference is Lazy. A template that is older waits until "
            "it changes. Change the template, or take spec.activationPreference out of the policy"
        )
    return (
        f"{_called(policy)} selects it. If that lasts, `leeward status` tells whether the controllers are at work. "
        "Their --skipped-propagating-namespaces and --skipped-propagating-apis may also leave it out"
    )


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
    name, namespace = str(metadata["name"]), str(metadata.get("namespace", ""))
    api_version = str(template["apiVersion"])
    add = f"Add a selector with the name {name} to its resourceSelectors"
    wanted = selector.namespace or policy.namespace
    if selector.api_version != api_version:
        why = f"the policy selects {selector.api_version}, and this is of {api_version}"
        return NearMiss(2, why, f"Mend the selector's apiVersion: {api_version}")
    if wanted and wanted != namespace:
        return NearMiss(3, f"the policy selects in namespace {wanted} only", add)
    if selector.name:
        return NearMiss(1, f"the policy selects the name {selector.name}", add)
    return _miss_by_label(template, selector.label_selector or LabelSelector(), add)


def _miss_by_label(template: ReadOnlyManifest, selector: LabelSelector, add: str) -> NearMiss:
    """Miss whose way out is `kubectl label` where the labels of that command let the template in."""
    metadata: ReadOnlyManifest = template["metadata"]
    namespace, labels = metadata.get("namespace", ""), selector.match_labels
    given = {str(key): str(value) for key, value in mapping_in(metadata, "labels").items()}
    lacking = [f"{key}={value}" for key, value in labels.items() if given.get(key) != value]
    has = ", ".join(f"{key}={given[key]}" for key in labels if key in given)
    asks = f"the policy asks for the label {', '.join(lacking)}, and the template has {has or 'no such label'}"
    unfit = [each for each in selector.match_expressions if not _fits(each, {**given, **labels})]
    if unfit:
        told = ", ".join(f"{each.key} {each.operator} ({', '.join(each.values)})".removesuffix(" ()") for each in unfit)
        why = f"its labels do not match the selector's matchExpressions: {told}"
        return NearMiss(0, f"{asks}; {why}" if lacking else why, add)
    where = f" -n {namespace}" if namespace else ""
    kind = str(template["kind"]).lower()
    command = f"`kubectl label {kind} {metadata['name']}{where} --overwrite {' '.join(lacking)}`"
    return NearMiss(0, asks, f"{command} lets it")


def _fits(expression: LabelSelectorRequirement, labels: Mapping[str, str]) -> bool:
    return matches(selector_of(LabelSelector(match_expressions=(expression,))), labels)


async def told_unclaimed(client: Client, kinds: Sequence[str], name: str, namespace: str) -> str:
    """Sentences on the template; empty where nobody could look."""
    try:
        return await why_unclaimed(client, kinds, name, namespace)
    except WorldError:
        return ""
