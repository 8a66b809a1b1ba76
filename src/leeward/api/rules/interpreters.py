"""Rules of ResourceInterpreterWebhookConfiguration. Karmada: pkg/webhook/configuration."""

from kubeapi.field import Node, Problems
from leeward.api.rules.texts import endpoint_fault

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


def _client_problems(client: Node) -> Problems:
    url, service = client["url"], client["service"]
    if url.is_set == service.is_set:
        yield client.required("set exactly one of url and service")
    elif url.is_set and (fault := endpoint_fault(url.text)):
        yield url.invalid(fault)
