"""Defaults and rules of MutatingWebhookConfigurations and ValidatingWebhookConfigurations.

Kubernetes: pkg/apis/admissionregistration; the same rules. Differs: `v1` must be among the review versions, for that is
the one that is spoken here.
"""

import base64
import binascii
import ssl
from urllib.parse import urlsplit

from kubeapi.field import Node, Problems
from kubeapi.meta import Manifest
from kubeapi.status import Problem
from kubeserver.cel import Unwritable, compile_program
from kubeserver.names import dns_1035_label, dns_subdomain, qualified_name
from kubeserver.values import entries, grown, section

CONDITION_VARIABLES = ("object", "oldObject", "request", "authorizer")
MAX_CONDITIONS = 64
LONGEST_SECONDS = 30
_OPERATIONS = ("CONNECT", "CREATE", "DELETE", "UPDATE")
_CHOICES = {
    "failurePolicy": ("Fail", "Ignore"),
    "matchPolicy": ("Equivalent", "Exact"),
    "reinvocationPolicy": ("IfNeeded", "Never"),
}
_HARMLESS = ("None", "NoneOnDryRun")
_VERSION = "v1"


def default_mutating(manifest: Manifest) -> None:
    default_validating(manifest)
    for webhook in entries(manifest, "webhooks"):
        webhook.setdefault("reinvocationPolicy", "Never")


def default_validating(manifest: Manifest) -> None:
    for webhook in entries(manifest, "webhooks"):
        for name, value in (("failurePolicy", "Fail"), ("matchPolicy", "Equivalent"), ("timeoutSeconds", 10)):
            webhook.setdefault(name, value)
        grown(webhook, "namespaceSelector")
        grown(webhook, "objectSelector")
        for rule in entries(webhook, "rules"):
            rule.setdefault("scope", "*")
        service = section(section(webhook, "clientConfig"), "service")
        if service:
            service.setdefault("port", 443)


def validate_configuration(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    del old
    return list(_configuration_problems(Node("webhooks", manifest.get("webhooks"))))


def _configuration_problems(webhooks: Node) -> Problems:
    seen: set[str] = set()
    for webhook in webhooks.items():
        name = webhook["name"]
        if name.text in seen:
            yield name.duplicate(f'"{name.text}"')
        seen.add(name.text)
        yield from _webhook_problems(webhook)


def _webhook_problems(webhook: Node) -> Problems:
    yield from _name_problems(webhook["name"])
    yield from _version_problems(webhook["admissionReviewVersions"])
    yield from client_problems(webhook["clientConfig"])
    for field, choices in _CHOICES.items():
        if webhook[field].is_set and webhook[field].text not in choices:
            yield webhook[field].not_supported(*choices)
    effects, timeout = webhook["sideEffects"], webhook["timeoutSeconds"]
    if not effects.text:
        yield effects.required(f"must specify one of {', '.join(_HARMLESS)}")
    elif effects.text not in _HARMLESS:
        yield effects.not_supported(*_HARMLESS)
    if timeout.is_set and not 1 <= timeout.number <= LONGEST_SECONDS:
        yield timeout.invalid(f"the timeout value must be between 1 and {LONGEST_SECONDS} seconds")
    for rule in webhook["rules"].items():
        yield from rule_problems(rule)
    yield from condition_problems(webhook["matchConditions"], CONDITION_VARIABLES)


def _name_problems(name: Node) -> Problems:
    if not name.text:
        yield name.required("")
    elif faults := dns_subdomain(name.text):
        yield name.invalid(faults[0])
    elif name.text.count(".") < 2:
        yield name.invalid("should be a domain with at least three segments separated by dots")


def _version_problems(versions: Node) -> Problems:
    if not versions.list:
        yield versions.required(f"must specify one of {_VERSION}")
        return
    for version in versions.items():
        if faults := dns_1035_label(version.text):
            yield version.invalid(faults[0])
    if _VERSION not in versions.list:
        yield versions.invalid(f"must include {_VERSION}: it is the only version that this server speaks")


def client_problems(client: Node) -> Problems:
    """Problems of where a webhook is."""
    url, service = client["url"], client["service"]
    if bool(url.text) == service.is_set:
        yield client.required("exactly one of url or service is required")
    elif url.text and (fault := _url_fault(url.text)):
        yield url.invalid(fault)
    if service.is_set:
        yield from _service_problems(service)
    if client["caBundle"].text and (fault := _authority_fault(client["caBundle"].text)):
        yield client["caBundle"].invalid(fault, value="<bytes>")


def _service_problems(service: Node) -> Problems:
    for part, what in (("name", "service name is required"), ("namespace", "service namespace is required")):
        if not service[part].text:
            yield service[part].required(what)
    if service["path"].text and not service["path"].text.startswith("/"):
        yield service["path"].invalid("must start with a '/'")
    if service["port"].is_set and not 1 <= service["port"].number <= 65535:
        yield service["port"].invalid("port is not valid: must be between 1 and 65535, inclusive")


def _url_fault(text: str) -> str:
    form = "desired format: https://host[/path]"
    try:
        url = urlsplit(text)
        _ = url.port
    except ValueError as error:
        return f"url must be a valid URL: {error}; {form}"
    if url.scheme != "https":
        return f"'https' is the only allowed URL scheme; {form}"
    if not url.hostname:
        return f"host must be specified; {form}"
    if url.username is not None or url.query or url.fragment:
        return f"user information, query parameters and fragments are not permitted in the URL; {form}"
    return ""


def _authority_fault(text: str) -> str:
    try:
        ssl.create_default_context(cadata=base64.b64decode(text).decode())
    except (binascii.Error, ssl.SSLError, ValueError) as error:
        return f"unable to load root certificates: they must be PEM: {error}"
    return ""


def rule_problems(rule: Node) -> Problems:
    """Problems of one rule with operations."""
    for field in ("operations", "apiGroups", "apiVersions", "resources"):
        if not rule[field].list:
            yield rule[field].required("")
        elif "*" in rule[field].list and len(rule[field].list) > 1 and field != "resources":
            yield rule[field].invalid("if '*' is present, must not specify other values")
    for operation in rule["operations"].items():
        if operation.text not in ("*", *_OPERATIONS):
            yield operation.not_supported("*", *_OPERATIONS)
    for resource in rule["resources"].items():
        if not resource.text or resource.text.count("/") > 1:
            yield resource.invalid("must be RESOURCE or RESOURCE/SUBRESOURCE, where each part may be '*'")
    if rule["scope"].is_set and rule["scope"].text not in ("*", "Cluster", "Namespaced"):
        yield rule["scope"].not_supported("*", "Cluster", "Namespaced")


def condition_problems(conditions: Node, variables: tuple[str, ...]) -> Problems:
    """Problems of match conditions, whose expressions know the `variables`."""
    if len(conditions.list) > MAX_CONDITIONS:
        yield Problem(conditions.path, "FieldValueTooMany", f"Too many: must have at most {MAX_CONDITIONS} items")
        return
    seen: set[str] = set()
    for condition in conditions.items():
        name, expression = condition["name"], condition["expression"]
        if not name.text:
            yield name.required("")
        elif faults := qualified_name(name.text):
            yield name.invalid(faults[0])
        elif name.text in seen:
            yield name.duplicate(f'"{name.text}"')
        seen.add(name.text)
        yield from expression_problems(expression, variables)


def expression_problems(expression: Node, variables: tuple[str, ...]) -> Problems:
    """Problems of one expression in CEL that must be there."""
    if not expression.text.strip():
        yield expression.required("")
        return
    try:
        compile_program(expression.text, variables)
    except Unwritable as error:
        yield expression.invalid(f"compilation failed: {error}")
