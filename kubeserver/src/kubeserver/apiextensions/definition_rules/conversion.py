"""Defaults and rules of what a definition says about conversion.

Kubernetes: pkg/apis/apiextensions/validation; the same rules, and the same names of fields, which are those of its
first version: `webhookClientConfig` is `webhook.clientConfig`.
"""

from kubeapi.field import Node, Problems
from kubeapi.meta import Manifest
from kubeapi.status import Problem
from kubeserver.kinds.webhook_configurations import client_problems
from kubeserver.names import dns_1035_label
from kubeserver.values import section

REVIEW_VERSIONS = ("v1", "v1beta1")
_UNASKED = "should not be set when strategy is not set to Webhook"


def default_conversion(spec: Manifest) -> None:
    conversion = spec.setdefault("conversion", {"strategy": "None"})
    service = section(section(section(conversion, "webhook"), "clientConfig"), "service")
    if service:
        service.setdefault("port", 443)


def conversion_problems(conversion: Node) -> Problems:
    strategy, webhook = conversion["strategy"], conversion["webhook"]
    client = Node(f"{conversion.path}.webhookClientConfig", webhook["clientConfig"].value)
    versions = Node(f"{conversion.path}.conversionReviewVersions", webhook["conversionReviewVersions"].value)
    if not strategy.text:
        yield strategy.required("")
    elif strategy.text not in ("None", "Webhook"):
        yield strategy.not_supported("None", "Webhook")
    if strategy.text == "Webhook":
        if client.is_set:
            yield from client_problems(client)
        else:
            yield client.required("required when strategy is set to Webhook")
        yield from _version_problems(versions)
        return
    for field in (client, versions):
        if field.value:
            yield Problem.forbidden(field.path, _UNASKED)


def _version_problems(versions: Node) -> Problems:
    if not versions.list:
        yield versions.required("")
        return
    seen: set[str] = set()
    for version in versions.items():
        if version.text in seen:
            yield version.invalid("duplicate version")
        elif faults := dns_1035_label(version.text):
            yield version.invalid(faults[0])
        seen.add(version.text)
    if seen.isdisjoint(REVIEW_VERSIONS):
        yield versions.invalid(f"must include at least one of {', '.join(REVIEW_VERSIONS)}")
