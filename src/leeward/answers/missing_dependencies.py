"""Dependencies that an application would lack where it goes: ConfigMaps, Secrets, claims and accounts that its template
names, and that nothing propagates there.

    DependencyNames     reads the names off Works while a picture is taken; contents are not kept. It also reads which
                        Services select a workload's Pods
    missing_there       of applications that move, what has no binding that takes it along

What another tool puts into a cluster is not seen from here.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from kubeapi.meta import ReadOnlyManifest
from kubeapi.unstructured import mapping_at
from leeward.answers.fleet_state import (
    BindingName,
    FleetState,
    NeededObject,
    TemplateNeeds,
    binding_of_work,
    key_of_binding,
)
from leeward.answers.redaction import preserved_fields, redacted_work
from leeward.api.work import Binding, Work
from leeward.core.execution.addresses import selector_of_service, selects
from leeward.core.execution.reachability import may_need_service
from leeward.core.interpreter import dependencies_of, has_dependencies
from leeward.operations.drain import workload_of

KINDS = ("ConfigMap", "Secret", "PersistentVolumeClaim", "ServiceAccount")
"""Kinds that Pods wait for."""
SERVICE, NO_SERVICE = "Service", "a Service that selects it"
_POD_LABELS = ("spec", "template", "metadata", "labels")


class MissingDependency(msgspec.Struct, frozen=True, rename="camel"):
    """`needs` is `ConfigMap shop/settings`; `known`: it is propagated to other clusters, and not to this one."""

    workload: str
    cluster: str
    needs: str
    known: bool


class DependencyNames:
    """Index of what templates name, by binding, as the Works of these bindings say."""

    def __init__(self, bindings: Iterable[Binding], *, messages: bool = False) -> None:
        self._messages = messages
        fields = ((key_of_binding(binding), preserved_fields(binding)) for binding in bindings)
        self._preserved = {key: found for key, found in fields if found}
        self._found: dict[BindingName, tuple[NeededObject, ...]] = {}
        self._workloads: dict[BindingName, ReadOnlyManifest] = {}
        self._selectors = defaultdict[str, dict[str, Mapping[str, str]]](dict)
        """Selectors of Services by namespace and binding."""

    def keep(self, work: Work) -> Work:
        """Notes what the Work's manifests name, and returns what of the Work a picture keeps."""
        key = binding_of_work(work)
        if key is not None and key not in self._found:
            self._found[key] = tuple(_names_in(work))
            self._note_labels(key, work)
        preserved = self._preserved.get(key, ()) if key is not None else ()
        return redacted_work(work, preserved, messages=self._messages)

    def _note_labels(self, key: BindingName, work: Work) -> None:
        """Notes the labels of Pods that it makes, or selects."""
        for manifest in work.spec.workload.manifests[:1]:
            if (manifest.get("apiVersion"), manifest.get("kind")) == ("v1", SERVICE):
                self._selectors[key.namespace][key.name] = selector_of_service(manifest)
            elif labels := mapping_at(manifest, *_POD_LABELS):
                self._workloads[key] = {"spec": {"template": {"metadata": {"labels": labels}}}}

    def _services_of(self, key: BindingName) -> Iterator[NeededObject]:
        """Services that select the Pods of the binding's workload."""
        workload = self._workloads.get(key, {})
        for binding, selector in self._selectors.get(key.namespace, {}).items():
            if selects(selector, workload):
                name = binding.removesuffix(f"-{SERVICE.lower()}")
                yield NeededObject(kind=SERVICE, namespace=key.namespace, name=name)

    @property
    def needs(self) -> tuple[TemplateNeeds, ...]:
        """Names of templates that name anything, or that Services select, by their own name."""
        found = {key: (*objects, *self._services_of(key)) for key, objects in sorted(self._found.items())}
        return tuple(
            TemplateNeeds(namespace=key.namespace, name=key.name, objects=objects)
            for key, objects in found.items()
            if objects
        )


def _names_in(work: Work) -> Iterator[NeededObject]:
    for manifest in work.spec.workload.manifests:
        if has_dependencies(manifest):
            for each in dependencies_of(manifest):
                if each.kind in KINDS and each.name:
                    yield NeededObject(kind=each.kind, namespace=each.namespace, name=each.name)


def missing_there(state: FleetState, after: Mapping[BindingName, Binding]) -> list[MissingDependency]:
    """`after` are the bindings as they will be. What follows its application is taken to arrive with it."""
    needs = {BindingName(each.namespace, each.name): each.objects for each in state.recorded.needs}
    carriers = {(b.spec.resource.kind, b.spec.resource.namespace, b.spec.resource.name): b for b in after.values()}
    found: list[MissingDependency] = []
    for key, objects in needs.items():
        before, now = state.bindings.get(key), after.get(key)
        if before is None or now is None:
            continue
        for cluster in sorted({t.name for t in now.spec.clusters} - {t.name for t in before.spec.clusters}):
            for each in objects:
                carrier = carriers.get((each.kind, each.namespace, each.name))
                if each.kind != SERVICE and (carrier is None or not _comes_along(carrier, key, cluster)):
                    named = f"{each.kind} {each.namespace}/{each.name}"
                    found.append(MissingDependency(workload_of(now), cluster, named, carrier is not None))
            services = [carriers.get((SERVICE, each.namespace, each.name)) for each in objects if each.kind == SERVICE]
            is_led = any(each is not None and _comes_along(each, key, cluster) for each in services)
            if services and may_need_service(now) and not is_led:
                found.append(MissingDependency(workload_of(now), cluster, NO_SERVICE, True))
    return found


def _comes_along(carrier: Binding, key: BindingName, cluster: str) -> bool:
    follows = any(BindingName(owner.namespace, owner.name) == key for owner in carrier.spec.required_by)
    return follows or any(target.name == cluster for target in carrier.spec.clusters)
