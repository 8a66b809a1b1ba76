"""The reviews of `authorization.k8s.io`: questions about what somebody may do."""

from collections.abc import Iterator
from typing import Any

from kubeapi import codec
from kubeapi.meta import Manifest
from kubeapi.status import Problem
from kubeserver.auth.authorization.attributes import Attributes
from kubeserver.auth.authorization.rbac import Rbac
from kubeserver.auth.authorization.rules import Rule
from kubeserver.errors import bad_request, invalid
from kubeserver.handler import User
from kubeserver.values import section, texts

KINDS = ("SubjectAccessReview", "LocalSubjectAccessReview", "SelfSubjectAccessReview", "SelfSubjectRulesReview")
_RESOURCE, _PATH = "spec.resourceAttributes", "spec.nonResourceAttributes"


def review(rbac: Rbac, kind: str, manifest: Manifest, user: User) -> dict[str, Any]:
    """The status of the answer to a review of one of `KINDS`. Raises: Refused."""
    spec = section(manifest, "spec")
    if kind == "SelfSubjectRulesReview":
        return _rules(rbac, spec, user)
    problems = list(_problems(kind, manifest))
    if problems:
        raise invalid("authorization.k8s.io", "", "", problems)
    if kind != "SelfSubjectAccessReview":
        user = User(spec.get("user", ""), tuple(texts(spec, "groups")), spec.get("uid", ""))
    decision = rbac.decide(user, _asked(spec))
    return {"allowed": decision.allowed, **({"reason": decision.reason} if decision.reason else {})}


def _problems(kind: str, manifest: Manifest) -> Iterator[Problem]:
    spec, is_local = section(manifest, "spec"), kind == "LocalSubjectAccessReview"
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is None and path is None:
        said = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        yield Problem.invalid(_RESOURCE, None, said)
    if resource is not None and path is not None:
        yield Problem.invalid(_PATH, _shown(path), "cannot be specified in combination with resourceAttributes")
    if kind != "SelfSubjectAccessReview" and not (spec.get("user") or spec.get("groups")):
        yield Problem.invalid("spec.user", "", "at least one of user or group must be specified")
    metadata = section(manifest, "metadata")
    if any(value for field, value in metadata.items() if not (is_local and field == "namespace")):
        yield Problem.invalid("metadata", metadata, f"must be empty{' except for namespace' if is_local else ''}")
    if is_local:
        yield from _local_problems(resource, path, metadata.get("namespace", ""))


def _local_problems(resource: Manifest | None, path: Manifest | None, namespace: str) -> Iterator[Problem]:
    asked = (resource or {}).get("namespace", "")
    if resource is not None and asked != namespace:
        yield Problem.invalid(f"{_RESOURCE}.namespace", asked, "must match metadata.namespace")
    if path is not None:
        yield Problem.invalid(_PATH, _shown(path), "disallowed on this kind of request")


def _shown(path: Manifest) -> dict[str, str]:
    return {"Path": path.get("path", ""), "Verb": path.get("verb", "")}


def _asked(spec: Manifest) -> Attributes:
    path = spec.get("nonResourceAttributes")
    if path is not None:
        return Attributes(path.get("verb", ""), path=path.get("path", "") or "/")
    resource = section(spec, "resourceAttributes")
    fields = ("verb", "group", "resource", "subresource", "namespace", "name")
    return Attributes(*(resource.get(key, "") for key in fields))


def _rules(rbac: Rbac, spec: Manifest, user: User) -> dict[str, Any]:
    namespace = spec.get("namespace", "")
    if not namespace:
        raise bad_request("no namespace on request")
    rules = rbac.rules_for(user, namespace)
    return {
        "resourceRules": [_wire(rule) for rule in rules if not rule.non_resource_urls],
        "nonResourceRules": [_wire(rule) for rule in rules if rule.non_resource_urls],
        "incomplete": False,
    }


def _wire(rule: Rule) -> Any:
    return codec.to_wire(rule)
