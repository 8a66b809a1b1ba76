"""Changes of interpreters: the kinds that are understood otherwise by another customization or webhook, as rules.

A rule names operations and kinds as those of a webhook do: `*` is all of them.
"""

from collections.abc import Collection, Iterable, Mapping

from kubeapi.codec import encode
from leeward.api.interpreter_config import (
    ResourceInterpreterCustomization,
    ResourceInterpreterWebhook,
    ResourceInterpreterWebhookConfiguration,
    RuleWithOperations,
)
from leeward.core.interpreter.scripts import Operation, script_of
from leeward.core.interpreter.webhook_exchange import matches

Rules = tuple[RuleWithOperations, ...]


def concerns(rules: Iterable[RuleWithOperations], api_version: str, kind: str, operations: Iterable[Operation]) -> bool:
    """Tells whether any of these operations may be answered otherwise for a kind."""
    wanted = tuple(operations)
    return any(matches(rule, api_version, kind, operation) for rule in rules for operation in wanted)


def changed_by_customization(
    old: ResourceInterpreterCustomization | None, new: ResourceInterpreterCustomization | None
) -> Rules:
    """Rules of what the old scripts were asked, or the new ones are, where they differ; None is an absence."""
    if old is not None and new is not None and old.spec.target == new.spec.target:
        changed = tuple(each for each in Operation if script_of(old, each) != script_of(new, each))
        return _rules(new, changed)
    return tuple(rule for each in (old, new) if each is not None for rule in _rules(each, _answered(each)))


def changed_by_webhooks(
    old: ResourceInterpreterWebhookConfiguration | None, new: ResourceInterpreterWebhookConfiguration | None
) -> Rules:
    """The rules of all webhooks of a configuration that were added, changed, taken away or put into another order."""
    before, after = ({encode(hook): hook for hook in each.webhooks} if each is not None else {} for each in (old, new))
    if [each for each in before if each in after] != [each for each in after if each in before]:
        return _all_rules((*before.values(), *after.values()))
    return _all_rules((*_without(before, after), *_without(after, before)))


def _answered(customization: ResourceInterpreterCustomization) -> tuple[Operation, ...]:
    return tuple(each for each in Operation if script_of(customization, each) is not None)


def _rules(customization: ResourceInterpreterCustomization, operations: tuple[Operation, ...]) -> Rules:
    target = customization.spec.target
    group, _, version = target.api_version.rpartition("/")
    names = tuple(operation.value for operation in operations)
    return (RuleWithOperations(names, (group,), (version,), (target.kind,)),) if names else ()


def _without(
    hooks: Mapping[bytes, ResourceInterpreterWebhook], others: Collection[bytes]
) -> list[ResourceInterpreterWebhook]:
    return [hook for text, hook in hooks.items() if text not in others]


def _all_rules(hooks: Iterable[ResourceInterpreterWebhook]) -> Rules:
    return tuple(rule for hook in hooks for rule in hook.rules)
