"""The `authorizer` of expressions in policies and webhooks: who asks, and what the request is about."""

from collections.abc import Mapping
from typing import Any

from kubeserver.admission import AdmissionReview
from kubeserver.auth.authorization.attributes import Attributes
from kubeserver.auth.authorization.interface import Authorizer
from kubeserver.auth.authorization.rbac import SERVICE_ACCOUNT_PREFIX
from kubeserver.cel.authorizer import Ask, authorizer_of
from kubeserver.handler import User


def deciding(authorizer: Authorizer, user: User) -> Ask:
    """Tells whether `user`, or the service account that an expression names, may do something."""

    def ask(verb: str, about: Mapping[str, str]) -> tuple[bool, str]:
        who = _service_account(*about["subject"].split("/")) if about["subject"] else user
        asked = {key: value for key, value in about.items() if key != "subject"}
        decision = authorizer.decide(who, Attributes(verb, **asked))
        return decision.allowed, decision.reason

    return ask


def authorizer_about(review: AdmissionReview, name: str) -> dict[str, Any]:
    """The value of the variable for one request, about the object `name`."""
    return authorizer_of(
        {
            "group": review.kind.group,
            "resource": review.kind.plural,
            "subresource": review.subresource,
            "namespace": review.namespace,
            "name": name,
        }
    )


def _service_account(namespace: str, name: str) -> User:
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated")
    return User(f"{SERVICE_ACCOUNT_PREFIX}{namespace}:{name}", groups)
