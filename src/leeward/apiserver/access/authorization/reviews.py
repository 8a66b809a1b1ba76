"""The reviews of `authorization.k8s.io`: questions about what somebody may do."""

from typing import Any

from leeward.api import codec
from leeward.api.meta import Manifest
from leeward.api.status import Problem
from leeward.apiserver.access.authorization.attributes import Attributes
from leeward.apiserver.access.authorization.rbac import Rbac
from leeward.apiserver.access.authorization.rules import Rule
from leeward.apiserver.handler import User
from leeward.apiserver.refusals import Refused, bad_request, invalid
from leeward.apiserver.values import section, texts

KINDS = ("SubjectAccessReview", "LocalSubjectAccessReview", "SelfSubjectAccessReview", "SelfSubjectRulesReview")
_RESOURCE, _PATH = "spec.resourceAttributes", "spec.nonResourceAttributes"


def review(rbac: Rbac, kind: str, manifest: Manifest, user: User, namespace: str = "") -> dict[str, Any]:
    """The status of the answer to a review of one of `KINDS`; `namespace` is that of the path. Raises: Refused."""
    spec = section(manifest, "spec")
    if kind == "SelfSubjectRulesReview":
        return _rules(rbac, spec, user)
    asked = _asked(spec)
    if kind == "LocalSubjectAccessReview":
        _check_local(asked, namespace)
    if kind != "SelfSubjectAccessReview":
        user = _subject(spec)
    decision = rbac.decide(user, asked)
    return {"allowed": decision.allowed, **({"reason": decision.reason} if decision.reason else {})}


def _asked(spec: Manifest) -> Attributes:
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is None and path is None:
        raise _wrong(_RESOURCE, None, "exactly one of nonResourceAttributes or resourceAttributes must be specified")
    if resource is not None and path is not None:
        shown = {"Path": path.get("path", ""), "Verb": path.get("verb", "")}
        raise _wrong(_PATH, shown, "cannot be specified in combination with resourceAttributes")
    if resource is None:
        return Attributes(section(spec, "nonResourceAttributes").get("verb", ""), path=_path(spec))
    fields = ("verb", "group", "resource", "subresource", "namespace", "name")
    return Attributes(*(resource.get(key, "") for key in fields))


def _path(spec: Manifest) -> str:
    return section(spec, "nonResourceAttributes").get("path", "") or "/"


def _subject(spec: Manifest) -> User:
    name, groups = spec.get("user", ""), texts(spec, "groups")
    if not name and not groups:
        problem = Problem.required("spec.user", "at least one of user or group must be specified")
        raise invalid("authorization.k8s.io", "", "", [problem])
    return User(name, tuple(groups), spec.get("uid", ""))


def _check_local(asked: Attributes, namespace: str) -> None:
    if asked.path:
        raise _wrong(_PATH, {"Path": asked.path, "Verb": asked.verb}, "disallowed on this kind of request")
    if asked.namespace != namespace:
        raise _wrong(f"{_RESOURCE}.namespace", asked.namespace, f"must match metadata.namespace: {namespace}")


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


def _wrong(field: str, value: object, said: str) -> Refused:
    return invalid("authorization.k8s.io", "", "", [Problem.invalid(field, value, said)])
