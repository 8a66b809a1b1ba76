"""Rule that nobody grants more than they have, checked when a role or a binding is written.

The verbs `escalate` (on roles) and `bind` (on what a binding refers to) lift the check.

Kubernetes: pkg/registry/rbac/*/policybased; the same, and the same words.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from kubeapi.diff import is_equal
from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeserver.admission import AdmissionReview, Rejected
from kubeserver.auth.authorization.attributes import Attributes
from kubeserver.auth.authorization.gate import describe
from kubeserver.auth.authorization.rbac import GROUP, Rbac, RoleRef
from kubeserver.auth.authorization.rules import EVERYTHING, Rule, missing
from kubeserver.errors import not_found
from kubeserver.handler import ADMIN_GROUP
from kubeserver.values import entries, section

_ROLES = ("roles", "clusterroles")
_BINDINGS = ("rolebindings", "clusterrolebindings")


class EscalationCheck:
    """An `Admission` over an `Rbac`."""

    def __init__(self, rbac: Rbac) -> None:
        self._rbac = rbac

    def admit(self, review: AdmissionReview) -> Manifest:
        watched = review.resource.group == GROUP and review.operation != "DELETE"
        if watched and ADMIN_GROUP not in review.user.groups:
            if review.resource.plural in _ROLES:
                self._check_role(review)
            elif review.resource.plural in _BINDINGS:
                self._check_binding(review)
        return review.object

    def _check_role(self, review: AdmissionReview) -> None:
        if _same(review, "rules", "aggregationRule") or self._may(review, "escalate", review.resource.plural):
            return
        if section(review.object, "aggregationRule") and self._lacks(review, EVERYTHING):
            raise Rejected("must have cluster-admin privileges to use the aggregationRule")
        self._refuse_lacking(review, _rules(entries(review.object, "rules")))

    def _check_binding(self, review: AdmissionReview) -> None:
        if _same(review, "subjects", "roleRef"):
            return
        reference = msgspec.convert(section(review.object, "roleRef"), RoleRef)
        plural = "clusterroles" if reference.kind == "ClusterRole" else "roles"
        if self._may(review, "bind", plural, reference.name):
            return
        rules = self._rbac.role_rules(reference, review.namespace)
        if rules is None:
            raise not_found(GROUP, plural, reference.name)
        self._refuse_lacking(review, rules)

    def _may(self, review: AdmissionReview, verb: str, plural: str, name: str = "") -> bool:
        name = name or section(review.object, "metadata").get("name", "")
        asked = Attributes(verb, GROUP, plural, namespace=review.namespace, name=name)
        return self._rbac.decide(review.user, asked).allowed

    def _lacks(self, review: AdmissionReview, rules: Sequence[Rule]) -> list[Rule]:
        try:
            return missing(self._rbac.rules_for(review.user, review.namespace), rules)
        except ValueError as error:
            raise Rejected(str(error)) from error

    def _refuse_lacking(self, review: AdmissionReview, rules: Sequence[Rule]) -> None:
        lacking = self._lacks(review, rules)
        if lacking:
            said = "\n".join(map(str, lacking))
            who = describe(review.user)
            raise Rejected(f"{who} is attempting to grant RBAC permissions not currently held:\n{said}")


def _rules(rules: Sequence[Any]) -> list[Rule]:
    return msgspec.convert(rules, list[Rule])


def _same(review: AdmissionReview, *fields: str) -> bool:
    old: ReadOnlyManifest | None = review.old_object
    return old is not None and all(is_equal(old.get(key) or None, review.object.get(key) or None) for key in fields)
