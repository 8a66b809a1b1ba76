"""`config.karmada.io/v1alpha1`: how kinds that Leeward does not know are understood, by Lua scripts or by webhooks."""

from kubeapi.meta import Int32, LabelSelector, Object, TypedObject


class DependentObjectReference(Object, frozen=True):
    """An object that a template needs beside it: one by `name`, or all that `label_selector` selects, never both."""

    api_version: str
    kind: str
    namespace: str = ""
    name: str = ""
    label_selector: LabelSelector | None = None


class CustomizationTarget(Object, frozen=True):
    api_version: str
    kind: str


class LuaScript(Object, frozen=True):
    lua_script: str


class CustomizationRules(Object, frozen=True):
    """One script per question; a question without a script is answered by the built-in interpreter."""

    retention: LuaScript | None = None
    replica_resource: LuaScript | None = None
    replica_revision: LuaScript | None = None
    status_reflection: LuaScript | None = None
    status_aggregation: LuaScript | None = None
    health_interpretation: LuaScript | None = None
    dependency_interpretation: LuaScript | None = None
    component_resource: LuaScript | None = None


class ResourceInterpreterCustomizationSpec(Object, frozen=True):
    target: CustomizationTarget
    customizations: CustomizationRules


class ResourceInterpreterCustomization(TypedObject, frozen=True, kw_only=True):
    """Explains a kind by scripts."""

    spec: ResourceInterpreterCustomizationSpec


class ServiceReference(Object, frozen=True):
    namespace: str
    name: str
    path: str | None = None
    port: Int32 | None = None


class WebhookClientConfig(Object, frozen=True):
    """Exactly one of `url` and `service` is set."""

    url: str | None = None
    service: ServiceReference | None = None
    ca_bundle: bytes = b""


class RuleWithOperations(Object, frozen=True):
    operations: tuple[str, ...]
    api_groups: tuple[str, ...]
    api_versions: tuple[str, ...]
    kinds: tuple[str, ...]


class ResourceInterpreterWebhook(Object, frozen=True):
    name: str
    client_config: WebhookClientConfig
    interpreter_context_versions: tuple[str, ...]
    rules: tuple[RuleWithOperations, ...] = ()
    timeout_seconds: Int32 | None = None


class ResourceInterpreterWebhookConfiguration(TypedObject, frozen=True, kw_only=True):
    """Explains kinds by webhooks."""

    webhooks: tuple[ResourceInterpreterWebhook, ...]
