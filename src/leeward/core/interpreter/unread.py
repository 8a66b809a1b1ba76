"""Stand-ins for interpreter configurations that are there and cannot be read: they answer none of their questions.

Without them somebody else would answer, the built-in rules last: an object that a script divides would go to each
cluster as a whole. What a configuration is about is read as far as that goes. Holds: S5.
"""

from collections.abc import Iterable

from kubeapi.meta import ObjectMeta, ReadOnlyManifest
from kubeapi.unstructured import list_at, mapping_at, mappings_at, text_at
from leeward.api.interpreter_config import (
    CustomizationRules,
    CustomizationTarget,
    LuaScript,
    ResourceInterpreterCustomization,
    ResourceInterpreterCustomizationSpec,
    ResourceInterpreterWebhook,
    ResourceInterpreterWebhookConfiguration,
    RuleWithOperations,
    WebhookClientConfig,
)

_ANY = ("*",)
_FAILING = LuaScript('error("it is stored in a form that cannot be read")')


def unread_customization(found: ReadOnlyManifest) -> ResourceInterpreterCustomization:
    """Fails for each question that `found` answers; for all where it does not even say which these are."""
    target = CustomizationTarget(
        text_at(found, "spec", "target", "apiVersion"), text_at(found, "spec", "target", "kind")
    )
    answered = mapping_at(found, "spec", "customizations")
    fields = zip(CustomizationRules.__struct_fields__, CustomizationRules.__struct_encode_fields__, strict=True)
    rules = {name: _FAILING for name, wire in fields if not answered or answered.get(wire)}
    spec = ResourceInterpreterCustomizationSpec(target, CustomizationRules(**rules))
    return ResourceInterpreterCustomization(metadata=_named(found), spec=spec)


def unread_configuration(found: ReadOnlyManifest) -> ResourceInterpreterWebhookConfiguration:
    """Configuration with the webhooks nowhere, and so fail for each question that `found` has one for."""
    hooks = (
        ResourceInterpreterWebhook(
            name=text_at(hook, "name"),
            client_config=WebhookClientConfig(),
            interpreter_context_versions=(),
            rules=tuple(map(_rule, mappings_at(hook, "rules"))),
        )
        for hook in mappings_at(found, "webhooks")
    )
    return ResourceInterpreterWebhookConfiguration(metadata=_named(found), webhooks=tuple(hooks))


def _rule(found: ReadOnlyManifest) -> RuleWithOperations:
    return RuleWithOperations(*(_texts(list_at(found, field)) for field in RuleWithOperations.__struct_encode_fields__))


def _texts(found: Iterable[object]) -> tuple[str, ...]:
    """All, where nothing can be read."""
    return tuple(each for each in found if isinstance(each, str)) or _ANY


def _named(found: ReadOnlyManifest) -> ObjectMeta:
    return ObjectMeta(name=text_at(found, "metadata", "name"))
