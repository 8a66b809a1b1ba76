"""The parameters that a binding gives to its policy: objects of the policy's own kind, by name or by labels."""

from kubeapi.meta import Manifest
from kubeapi.selectors import matches, selector_of
from kubeserver.dynamic_admission.policies.configuration import AnyPolicy, Binding, ParamRef
from kubeserver.dynamic_admission.webhooks.matching import labels_of
from kubeserver.kinds.kind import Kind
from kubeserver.kinds.scheme import Scheme
from kubeserver.registry.conversion import read_object, show
from kubeserver.registry.objects import decode_stored
from kubeserver.store import Store


class Misconfigured(Exception):
    """The policy or the binding cannot be followed; the message says which, and why."""


async def find_params(
    policy: AnyPolicy, binding: Binding, namespace: str, scheme: Scheme, store: Store
) -> list[Manifest | None]:
    """Finds the parameters with which the policy is to be evaluated: once for each parameter, or once with none.
    Raises: Misconfigured.

    `namespace` is that of the object; parameters in namespaces come from there, unless the binding names another.
    """
    wanted, reference = policy.spec.param_kind, binding.spec.param_ref
    if wanted is None or reference is None:
        return [None]
    kind = scheme.find_kind(wanted.api_version, wanted.kind)
    if kind is None:
        named = f"{wanted.api_version}, Kind={wanted.kind}"
        raise Misconfigured(f"failed to configure policy: failed to find resource referenced by paramKind: '{named}'")
    found = await _found(kind, reference, _namespace(kind, reference, namespace), store)
    if not found and reference.parameter_not_found_action == "Deny":
        why = "no params found for policy binding with `Deny` parameterNotFoundAction"
        raise Misconfigured(f"failed to configure binding: {why}")
    return list(found)


def _namespace(kind: Kind, reference: ParamRef, namespace: str) -> str:
    if not kind.namespaced:
        if reference.namespace:
            raise Misconfigured(
                "failed to configure binding: paramRef.namespace must not be provided for a cluster-scoped `paramKind`"
            )
        return ""
    if not (reference.namespace or namespace):
        raise Misconfigured(
            "failed to configure binding: cannot use namespaced paramRef in policy binding that "
            "matches cluster-scoped resources"
        )
    return reference.namespace or namespace


async def _found(kind: Kind, reference: ParamRef, namespace: str, store: Store) -> list[Manifest]:
    if reference.name:
        record = store.get(kind.key(namespace, reference.name))
        return [await read_object(kind, record)] if record else []
    selector = selector_of(reference.selector)
    shown = await show(kind, store.list(kind.key(namespace, "")).records)
    found = [decode_stored(kind, value) for value in shown]
    return [manifest for manifest in found if matches(selector, labels_of(manifest))]
