"""The identity as which `karmadactl register` writes the roles of an agent: `system:karmada:agent:rbac-generator`.

Its certificate waits for a person who approves it. On the embedded server it may then write these roles and no others:
those of the agent of a cluster that has not joined, bound to that agent alone, with no more in them than Karmada's
agents get. So it needs none of the rights that it grants, and reaches nothing itself.

Karmada: pkg/karmadactl/register (GenerateRBACResources); there the identity may write any role.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from kubeserver.admission import AdmissionReview
from kubeserver.auth.authorization import Rule
from kubeserver.auth.authorization.rules import missing
from kubeserver.values import entries, section
from leeward.api.names import (
    AGENT_USER_PREFIX,
    CLUSTER_NAMESPACE,
    EXECUTION_SPACE_PREFIX,
    RBAC_GENERATOR,
    execution_space,
)
from leeward.api.rules.texts import cluster_name_fault
from leeward.core.registration import namesakes_of_secrets, secrets_of_agent

GENERATOR = AGENT_USER_PREFIX + RBAC_GENERATOR
_RBAC = "rbac.authorization.k8s.io"
_KINDS = ("clusterroles", "clusterrolebindings", "roles", "rolebindings")
RULES_OF_GENERATOR = (
    Rule(("get",), ("cluster.karmada.io",), ("clusters",)),
    Rule(("get", "create"), ("",), ("namespaces",)),
    Rule(("get", "delete"), ("certificates.k8s.io",), ("certificatesigningrequests",)),
    Rule(("create", "delete", "escalate", "bind"), (_RBAC,), _KINDS),
)
_REQUEST_PREFIX = "agent-rbac-generator-"
_NAME = re.compile(r"system:karmada:([^:]+):agent(-secret|-work)?")
_READ = ("get", "list", "watch")

Joined = Callable[[str], bool]
"""Tells whether a cluster of this name has joined."""


def problem_of_generated(review: AdmissionReview, joined: Joined) -> str:
    """Reason why the generator may not do the reviewed action; empty where it may."""
    resource, name = review.resource.plural, str(section(review.object, "metadata").get("name", ""))
    if resource == "certificatesigningrequests":
        return "" if name.startswith(_REQUEST_PREFIX) else f"may only delete its own requests, {_REQUEST_PREFIX}..."
    if resource == "namespaces":
        cluster = name.removeprefix(EXECUTION_SPACE_PREFIX) if name.startswith(EXECUTION_SPACE_PREFIX) else ""
        return "" if name == CLUSTER_NAMESPACE else _problem_of_cluster(cluster, joined)
    match = _NAME.fullmatch(name)
    if resource not in _KINDS or match is None:
        return "may only write the roles system:karmada:NAME:agent, -secret and -work, and their bindings"
    cluster, suffix = match[1], match[2] or ""
    namespace = _namespace_of(cluster, suffix)
    if (resource in ("roles", "rolebindings"), review.namespace) != (bool(suffix), namespace):
        return f"may not write {resource} {name} here: it belongs into {namespace or 'no namespace'}"
    problem = _problem_of_cluster(cluster, joined)
    if problem or review.operation == "DELETE":
        return problem
    if resource in ("roles", "clusterroles"):
        return _problem_of_role(review.object, cluster, suffix)
    return _problem_of_binding(review.object, cluster, name, "Role" if suffix else "ClusterRole")


def _problem_of_cluster(cluster: str, joined: Joined) -> str:
    if cluster_name_fault(cluster) or cluster == RBAC_GENERATOR:
        return f"may not write for {cluster!r}, which is no name of a cluster"
    there = [each for each in (cluster, *namesakes_of_secrets(cluster)) if joined(each)]
    return f"may only write for a cluster that has not joined, and {there[0]} has" if there else ""


def _namespace_of(cluster: str, suffix: str) -> str:
    match suffix:
        case "-secret":
            return CLUSTER_NAMESPACE
        case "-work":
            return execution_space(cluster)
        case _:
            return ""


def _problem_of_role(role: Mapping[str, Any], cluster: str, suffix: str) -> str:
    if role.get("aggregationRule"):
        return "may not write a role with an aggregationRule"
    try:
        rules = [msgspec.convert(rule, Rule) for rule in entries(role, "rules")]
        beyond = missing(rules_of_karmadas_agent(cluster, suffix), rules)
    except ValueError as error:
        return f"may not write this role: {error}"
    return f"may not give an agent {beyond[0]}" if beyond else ""


def _problem_of_binding(binding: Mapping[str, Any], cluster: str, name: str, kind: str) -> str:
    subjects = [(subject.get("kind"), subject.get("name")) for subject in entries(binding, "subjects")]
    role = section(binding, "roleRef")
    if subjects != [("User", AGENT_USER_PREFIX + cluster)] or (role.get("kind"), role.get("name")) != (kind, name):
        return f"may only bind {kind} {name} to the user {AGENT_USER_PREFIX}{cluster}"
    return ""


def rules_of_karmadas_agent(cluster: str, suffix: str) -> tuple[Rule, ...]:
    """Rules that the role `system:karmada:NAME:agent` with this suffix may have in it at most."""
    works = "work.karmada.io"
    match suffix:
        case "-secret":
            return (
                Rule(("get", "patch"), ("",), ("secrets",), secrets_of_agent(cluster)),
                Rule(("create",), ("",), ("secrets",)),
            )
        case "-work":
            return (
                Rule((*_READ, "create", "update", "patch", "delete"), (works,), ("works",)),
                Rule(("get", "patch", "update"), (works,), ("works/status",)),
            )
        case _:
            clusters = "cluster.karmada.io"
            return (
                Rule(("get", "delete"), (clusters,), ("clusters",), (cluster,)),
                Rule(("create", "list", "watch"), (clusters,), ("clusters",)),
                Rule(("get", "patch", "update"), (clusters,), ("clusters/status",), (cluster,)),
                Rule(_READ, ("config.karmada.io",), ("*",)),
                Rule(("get",), ("",), ("namespaces",)),
                Rule(("get", "create", "update"), ("coordination.k8s.io",), ("leases",)),
                Rule(("get", "create"), ("certificates.k8s.io",), ("certificatesigningrequests",)),
                Rule(("list", "watch"), ("",), ("services",)),
                Rule(("create", "patch", "update"), ("",), ("events",)),
            )
