"""Rules of ResourceInterpreterWebhookConfiguration. Karmada: pkg/webhook/configuration."""

from kubeapi.field import Node, Problems
from kubeapi.urls import endpoint_fault, split_url
from leeward.api.rules.member_addresses import AddressRules

_OPERATIONS = (
    "*",
    "InterpretReplica",
    "InterpretComponent",
    "ReviseReplica",
    "Retain",
    "AggregateStatus",
    "InterpretDependency",
    "InterpretStatus",
    "InterpretHealth",
)
_LONGEST_SECONDS = 30


def webhook_configuration_problems(configuration: Node) -> Problems:
    seen: set[str] = set()
    for webhook in configuration["webhooks"].items():
        if webhook["name"].text in seen:
            yield webhook["name"].duplicate("webhooks must have names of their own")
        seen.add(webhook["name"].text)
        yield from _client_problems(webhook["clientConfig"])
        timeout = webhook["timeoutSeconds"]
        if timeout.is_set and not 1 <= timeout.number <= _LONGEST_SECONDS:
            yield timeout.invalid(f"must be between 1 and {_LONGEST_SECONDS} seconds")
        for rule in webhook["rules"].items():
            for operation in rule["operations"].items():
                if operation.text not in _OPERATIONS:
                    yield operation.not_supported(*_OPERATIONS)


def webhook_url_fault(url: str, rules: AddressRules) -> str:
    """The reason why no webhook is asked at `url`; empty where one is. It is sent whole objects, Secrets too.

    Of the rules for members those hold that name networks: a webhook may be on the machine of the control plane.
    """
    return https_fault(url, webhook_rules(rules))


def https_fault(url: str, rules: AddressRules) -> str:
    """The reason why nothing is asked at `url` by these rules as they are; empty where something is."""
    parts = split_url(url)
    if parts is None or parts.scheme != "https":
        return "must be https://: over http:// everybody on the way could read the objects that it is sent"
    return rules.url_fault(url)


def webhook_rules(rules: AddressRules) -> AddressRules:
    return AddressRules(allowed=rules.allowed)


def gate_webhook_rules(rules: AddressRules) -> AddressRules:
    """Rules for webhooks of gates: none is on a loopback address that is not allowed, nor the control plane itself."""
    return AddressRules(allowed=rules.allowed, own=rules.own, loopback=False)


def webhook_address_problems(configuration: Node, old: Node, rules: AddressRules) -> Problems:
    """The problems of where webhooks lead. A URL that has not changed is judged at its use."""
    before = {webhook["clientConfig"]["url"].text for webhook in old["webhooks"].items()}
    for webhook in configuration["webhooks"].items():
        url = webhook["clientConfig"]["url"]
        if not url.text or url.text in before or endpoint_fault(url.text):
            continue
        if fault := webhook_url_fault(url.text, rules):
            yield url.invalid(fault)


def _client_problems(client: Node) -> Problems:
    url, service = client["url"], client["service"]
    if url.is_set == service.is_set:
        yield client.required("set exactly one of url and service")
    elif url.is_set and (fault := endpoint_fault(url.text)):
        yield url.invalid(fault)
