"""Validation of objects of Karmada's kinds, beyond what its schema can say.

The model: one generator of problems per kind (package `rules`), read lazily into a list. Nothing here changes an object
or knows another one than the object and what it replaces; run `defaulting` first.

Karmada: pkg/webhook/*/validating.go, pkg/apis/cluster/validation; the same fields and kinds of problems, proven by the
recorded cases of `tests/data/oracle`. The messages are ours. `validate_change` differs: it lets stay what was stored.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

from kubeapi import codec
from kubeapi.choices import choices_of, path_of
from kubeapi.field import Node
from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.status import Problem
from leeward.api import names
from leeward.api.purge_mode import OLD_WORDS
from leeward.api.resource import (
    CLUSTER_OVERRIDE_POLICIES,
    CLUSTER_PROPAGATION_POLICIES,
    CLUSTER_RESOURCE_BINDINGS,
    CLUSTER_TAINT_POLICIES,
    CLUSTERS,
    FEDERATED_RESOURCE_QUOTAS,
    OVERRIDE_POLICIES,
    PROPAGATION_POLICIES,
    RESOURCE_BINDINGS,
    WORKLOAD_REBALANCERS,
    WORKS,
)
from leeward.api.rules.bindings import binding_problems, work_problems
from leeward.api.rules.bounds import (
    binding_bounds_problems,
    cluster_bounds_problems,
    policy_bounds_problems,
    rebalancer_bounds_problems,
    taint_policy_bounds_problems,
    webhooks_bounds_problems,
)
from leeward.api.rules.clusters import cluster_problems, taint_policy_problems
from leeward.api.rules.interpreters import webhook_configuration_problems
from leeward.api.rules.overrides import override_policy_problems
from leeward.api.rules.policies import propagation_policy_problems
from leeward.api.rules.quotas import quota_problems

_UNSUPPORTED = re.compile(r"^Invalid enum value '?(.*?)'?$")
DELETION_PROTECTED_LABEL = "resourcetemplate.karmada.io/deletion-protected"


def validate(
    manifest: Manifest, old: Manifest | None = None, *, allow_no_execute_taint_policy: bool = True
) -> list[Problem]:
    """The problems of `manifest`; `old` is what an update replaces. Other kinds than Karmada's have none."""
    group = str(manifest.get("apiVersion", "")).partition("/")[0]
    kind = str(manifest.get("kind", ""))
    if problems := validate_bounds(manifest, old):
        return problems
    if (group, kind) == ("policy.karmada.io", "ClusterTaintPolicy"):
        return list(taint_policy_problems(Node("", manifest), allow_no_execute_taint_policy))
    rules = _RULES.get((group, kind))
    return list(rules(Node("", manifest), None if old is None else Node("", old))) if rules else []


def validate_change(manifest: Manifest, old: Manifest | None = None) -> list[Problem]:
    """Problems that a write brings: those that `old` has as well, of the same field and value, were there before.

    Older versions of Karmada have stored objects that it refuses today. Whoever takes a finalizer off one of them, or
    reports on it, has to be able to write it.
    """
    problems = validate(manifest, old)
    stood = validate(old, old) if problems and old is not None else ()
    return [problem for problem in problems if problem not in stood]


def validate_types(manifest: Manifest, old: Manifest | None = None) -> list[Problem]:
    """Problem of what our types cannot hold, though a schema may let it pass, as a whole number that is written 1.0.

    `old` is what an update replaces: what could not be read before can be changed otherwise, and let go.
    """
    problem = type_problem(manifest)
    return [problem] if problem is not None and (old is None or type_problem(old) is None) else []


def type_problem(manifest: Manifest) -> Problem | None:
    """Problem for which controllers cannot read the object; None where they can, and for kinds that they do not
    read."""
    group, kind = str(manifest.get("apiVersion", "")).partition("/")[0], str(manifest.get("kind", ""))
    known = _TYPES.get((group, kind))
    return None if known is None else problem_of_reading(manifest, known)


def problem_of_reading(manifest: ReadOnlyManifest, as_type: type[Any]) -> Problem | None:
    """Problem for which the object cannot be read as the type: the field, and the choices that it has."""
    try:
        codec.decode(codec.encode(manifest), as_type)
    except codec.DecodeError as error:
        said, _, at = str(error).partition(" - at `$")
        path = at.strip("`")
        unsupported = _UNSUPPORTED.search(said)
        if unsupported is not None:
            known = choices_of(as_type, path_of(path))
            choices = [choice for choice in known if choice and choice not in OLD_WORDS]
            return Problem.not_supported(path.lstrip("."), unsupported[1], choices)
        return Problem(path.lstrip("."), "FieldValueTypeInvalid", f"Invalid value: {said}")
    return None


def validate_bounds(manifest: Manifest, old: Manifest | None = None) -> list[Problem]:
    """The problems of a manifest that is too large to be looked at; to be asked before anything else."""
    group = str(manifest.get("apiVersion", "")).partition("/")[0]
    rules = _BOUNDS.get((group, str(manifest.get("kind"))))
    return [] if rules is None else list(rules(Node("", manifest), None if old is None else Node("", old)))


_PROTECTED = f"This resource is protected, please make sure to remove the label: {DELETION_PROTECTED_LABEL}"
"""Karmada's sentence, which tools match."""


def validate_deletion(manifest: Manifest) -> list[Problem]:
    """A problem where the object, of any kind, Karmada's or a user's, is protected from being deleted."""
    label = Node("", manifest)["metadata"]["labels"].mapping.get(DELETION_PROTECTED_LABEL)
    if label != "Always":
        return []
    return [Problem("", "FieldValueForbidden", _PROTECTED)]


_TYPES = {
    (resource.group, resource.kind): resource.object_type
    for resource in (
        CLUSTERS,
        CLUSTER_OVERRIDE_POLICIES,
        CLUSTER_PROPAGATION_POLICIES,
        CLUSTER_RESOURCE_BINDINGS,
        CLUSTER_TAINT_POLICIES,
        FEDERATED_RESOURCE_QUOTAS,
        OVERRIDE_POLICIES,
        PROPAGATION_POLICIES,
        RESOURCE_BINDINGS,
        WORKLOAD_REBALANCERS,
        WORKS,
    )
}
"""The kinds that controllers read."""
_Rules = Callable[[Node, Node | None], Iterator[Problem]]

_BOUNDS: dict[tuple[str, str], _Rules] = {
    ("policy.karmada.io", "PropagationPolicy"): policy_bounds_problems,
    ("policy.karmada.io", "ClusterPropagationPolicy"): policy_bounds_problems,
    ("policy.karmada.io", "OverridePolicy"): policy_bounds_problems,
    ("policy.karmada.io", "ClusterOverridePolicy"): policy_bounds_problems,
    ("policy.karmada.io", "ClusterTaintPolicy"): taint_policy_bounds_problems,
    ("apps.karmada.io", "WorkloadRebalancer"): rebalancer_bounds_problems,
    ("work.karmada.io", "ResourceBinding"): binding_bounds_problems,
    ("work.karmada.io", "ClusterResourceBinding"): binding_bounds_problems,
    ("cluster.karmada.io", "Cluster"): cluster_bounds_problems,
    ("config.karmada.io", "ResourceInterpreterWebhookConfiguration"): webhooks_bounds_problems,
}

_RULES: dict[tuple[str, str], _Rules] = {
    ("cluster.karmada.io", "Cluster"): lambda new, old: cluster_problems(new),
    ("policy.karmada.io", "PropagationPolicy"): lambda new, old: propagation_policy_problems(
        new, old, names.POLICY_ID_LABEL
    ),
    ("policy.karmada.io", "ClusterPropagationPolicy"): lambda new, old: propagation_policy_problems(
        new, old, names.CLUSTER_POLICY_ID_LABEL
    ),
    ("policy.karmada.io", "OverridePolicy"): override_policy_problems,
    ("policy.karmada.io", "ClusterOverridePolicy"): override_policy_problems,
    ("policy.karmada.io", "FederatedResourceQuota"): lambda new, old: quota_problems(new),
    ("work.karmada.io", "ResourceBinding"): binding_problems,
    ("work.karmada.io", "ClusterResourceBinding"): binding_problems,
    ("work.karmada.io", "Work"): lambda new, old: work_problems(new),
    ("config.karmada.io", "ResourceInterpreterWebhookConfiguration"): lambda new, old: webhook_configuration_problems(
        new
    ),
}
