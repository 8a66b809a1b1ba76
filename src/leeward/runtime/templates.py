"""The resource templates of the control plane: informers of just those kinds that some policy selects."""

from collections.abc import Callable
from typing import NamedTuple

from controller_runtime import Informer, Key, key_of, version_of
from kubeapi.meta import Manifest, labels_of
from kubeapi.resource import Resource
from kubeapi.selectors import matches, selector_of
from kubeclient import NotFound, WorldError
from leeward.api.interpreter_config import DependentObjectReference
from leeward.api.work import BindingResource
from leeward.runtime.controller_context import Server


class TemplateKey(NamedTuple):
    api_version: str
    kind: str
    key: Key


MAX_VERSION_DIGITS = 20


class Templates:
    def __init__(self, server: Server) -> None:
        self._server = server
        self._kinds: dict[tuple[str, str], tuple[Resource[Manifest], Informer[Manifest]]] = {}
        self._handlers: list[Callable[[TemplateKey, bool], None]] = []

    async def follow(self, api_version: str, kind: str) -> tuple[Resource[Manifest], Informer[Manifest]]:
        """The kind and its informer, which are followed from now on. Raises: UnknownKind, WorldError."""
        known = self._kinds.get((api_version, kind))
        if known is not None:
            return known
        resource = await self._server.discovery.resource(api_version, kind)
        informer = self._server.informers.of(resource)
        if (api_version, kind) not in self._kinds:
            self._kinds[api_version, kind] = (resource, informer)
            informer.on_change(self._changed(api_version, kind))
        return resource, informer

    async def select(self, dependency: DependentObjectReference) -> list[Manifest]:
        """The objects that a dependency means, and that there are. Raises: UnknownKind, WorldError."""
        _, informer = await self.follow(dependency.api_version, dependency.kind)
        await informer.wait_synced()
        if dependency.label_selector is None:
            found = informer.get(dependency.name, dependency.namespace)
            return [] if found is None else [found]
        selector = selector_of(dependency.label_selector)
        return [each for each in informer.list(dependency.namespace) if matches(selector, labels_of(each))]

    def on_change(self, handler: Callable[[TemplateKey, bool], None]) -> None:
        """Calls `handler` with every template that is there, appears or changes, and whether it is told of it for the
        first time."""
        self._handlers.append(handler)
        for key in self.all_keys():
            handler(key, True)

    def of(self, api_version: str, kind: str) -> Informer[Manifest] | None:
        """The templates of a kind, if it is followed."""
        known = self._kinds.get((api_version, kind))
        return known[1] if known is not None else None

    def all_keys(self, is_wanted: Callable[[str, str], bool] = lambda api_version, kind: True) -> list[TemplateKey]:
        """All templates of the kinds that are followed and wanted, as far as they are known."""
        wanted = [(kind, informer) for kind, (_, informer) in self._kinds.items() if is_wanted(*kind)]
        return [TemplateKey(*kind, key) for kind, informer in wanted for key in informer.all_keys()]

    def _changed(self, api_version: str, kind: str) -> Callable[[Manifest | None, Manifest | None], None]:
        def changed(old: Manifest | None, new: Manifest | None) -> None:
            if new is not None:
                for handler in self._handlers:
                    handler(TemplateKey(api_version, kind, key_of(new)), old is None)

        return changed


async def read_template(server: Server, resource: Resource[Manifest], wanted: BindingResource) -> Manifest | None:
    """The template that a binding names, not older than the one that it was made for.

    None when it is gone, or replaced by another of the same name. Raises: WorldError.
    """
    key, least = Key(wanted.namespace, wanted.name), _version(wanted.resource_version)
    template = await read_current(server, resource, key, least=least)
    if template is None or (wanted.uid and template["metadata"]["uid"] != wanted.uid):
        return None
    return template


async def read_current(server: Server, resource: Resource[Manifest], key: Key, *, least: int = 0) -> Manifest | None:
    """The template of that name, in the version `least` or a later one; None when it is gone.

    While its kind has to be listed again the cache may be of before a restore, and the API server is asked. Where that
    cannot say, what is known counts: an application moves also while nobody can read its kind. Raises: WorldError.
    """
    templates = server.informers.of(resource)
    await templates.wait_synced()
    known = templates.get(key.name, key.namespace)
    is_older = known is not None and version_of(known) < least
    if templates.current and not is_older:
        return known
    try:
        return await server.client.get(resource, key.name, key.namespace)
    except NotFound:
        raise
    except WorldError:
        if is_older or known is None:
            raise
        return known


def _version(text: str) -> int:
    """Version of a written object; 0 where it is no resourceVersion."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MAX_VERSION_DIGITS else 0
