"""Tells controllers when a kind is understood otherwise: a customization or a webhook was added, changed or removed.

Who subscribes for an operation looks again at the objects of the kinds that it is told of, and at nothing else.
"""

from collections.abc import Callable, Collection, Iterable
from typing import Any, TypeVar

from controller_runtime import Informer, Informers, Key, key_of
from leeward.api.resource import RESOURCE_INTERPRETER_CUSTOMIZATIONS, RESOURCE_INTERPRETER_WEBHOOK_CONFIGURATIONS
from leeward.core.interpreter.changes import Rules, changed_by_customization, changed_by_webhooks, concerns
from leeward.core.interpreter.scripts import Operation

T = TypeVar("T")
Concerned = Callable[[str, str], bool]
"""Predicate of an apiVersion and a kind: whether it is understood otherwise now."""


class InterpreterChanges:
    def __init__(self, informers: Informers) -> None:
        self._informers = informers

    def subscribe(self, operations: Collection[Operation], handler: Callable[[Concerned], None]) -> Callable[[], None]:
        """Calls `handler` for every change of the answers to these operations, and once for the present ones.

        Returns a function that ends this.
        """

        def told(rules: Rules) -> None:
            if rules:
                handler(lambda api_version, kind: concerns(rules, api_version, kind, operations))

        def of(changed: Callable[[T | None, T | None], Rules]) -> Callable[[T | None, T | None], None]:
            return lambda old, new: told(changed(old, new))

        customizations = self._informers.of(RESOURCE_INTERPRETER_CUSTOMIZATIONS)
        webhooks = self._informers.of(RESOURCE_INTERPRETER_WEBHOOK_CONFIGURATIONS)
        ends = (customizations.on_change(of(changed_by_customization)), webhooks.on_change(of(changed_by_webhooks)))

        def end() -> None:
            for each in ends:
                each()

        return end

    def of_keys(
        self, operations: Collection[Operation], keys: Callable[[Concerned], Iterable[T]], add: Callable[[T], None]
    ) -> None:
        """Adds the keys of such kinds that `keys` finds."""

        def reinterpreted(concerned: Concerned) -> None:
            for key in keys(concerned):
                add(key)

        self.subscribe(operations, reinterpreted)

    def of_bindings(
        self, operations: Collection[Operation], bindings: Informer[Any], add: Callable[[Key], None]
    ) -> None:
        """Adds the bindings whose templates are of such a kind."""

        def keys(concerned: Concerned) -> list[Key]:
            resources = ((binding, binding.spec.resource) for binding in bindings.list())
            return [key_of(binding) for binding, each in resources if concerned(each.api_version, each.kind)]

        self.of_keys(operations, keys, add)
