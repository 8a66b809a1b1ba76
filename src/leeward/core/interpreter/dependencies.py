"""Dependencies: the objects that a template needs beside it in a member, before it can do its work.

Of a pod: ConfigMaps, Secrets, its ServiceAccount, and claims, from containers of all kinds and from volumes. Of an
Ingress: the Secrets of its certificates and the Services that it leads to. Of a ServiceImport: the Service that stands
for it, and its EndpointSlices. All are of the template's own namespace, since the API has no field for another one.

Karmada: pkg/resourceinterpreter/default/native; same, but for an Ingress: Karmada leaves its Services out, and fails on
a certificate that names no Secret.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from kubeapi.meta import LabelSelector, ReadOnlyManifest
from kubeapi.unstructured import list_at, mapping_at, text_at
from leeward.api.interpreter_config import DependentObjectReference
from leeward.api.names import derived_service_name
from leeward.api.ordinals import numbers_by_cluster

Path = tuple[str, ...]

SERVICE_NAME_LABEL = "kubernetes.io/service-name"
_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
_IN_EVERY_NAMESPACE = "default"
"""The ServiceAccount that each namespace has."""

_BY_CONTAINER: Mapping[str, tuple[tuple[str, Path], ...]] = {
    "ConfigMap": (("envFrom", ("configMapRef", "name")), ("env", ("valueFrom", "configMapKeyRef", "name"))),
    "Secret": (("envFrom", ("secretRef", "name")), ("env", ("valueFrom", "secretKeyRef", "name"))),
}
_VOLUMES_WITH_SECRET_REF = ("cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos")
_BY_VOLUME: Mapping[str, tuple[Path, ...]] = {
    "ConfigMap": (("configMap", "name"),),
    "Secret": (
        ("secret", "secretName"),
        ("azureFile", "secretName"),
        ("csi", "nodePublishSecretRef", "name"),
        *((source, "secretRef", "name") for source in _VOLUMES_WITH_SECRET_REF),
    ),
    "PersistentVolumeClaim": (("persistentVolumeClaim", "claimName"),),
}
_BY_PROJECTION: Mapping[str, Path] = {"ConfigMap": ("configMap", "name"), "Secret": ("secret", "name")}


def in_order(dependencies: Iterable[DependentObjectReference]) -> list[DependentObjectReference]:
    """References, each once; by API version, kind, namespace and name."""
    return sorted(
        {repr(each): each for each in dependencies}.values(),
        key=lambda each: (each.api_version, each.kind, each.namespace, each.name, repr(each.label_selector)),
    )


def pod_dependencies(pod_spec: Mapping[str, Any], namespace: str) -> list[DependentObjectReference]:
    """Objects that a pod names, each once, in order."""
    named = (*_by_containers(pod_spec), *_by_volumes(pod_spec), *_by_pod(pod_spec))
    return in_order(_core(kind, namespace, name) for kind, name in named if name)


def template_dependencies(manifest: ReadOnlyManifest) -> list[DependentObjectReference]:
    return pod_dependencies(mapping_at(manifest, "spec", "template", "spec"), _namespace(manifest))


def stateful_set_dependencies(manifest: ReadOnlyManifest) -> list[DependentObjectReference]:
    """Dependencies of a StatefulSet, without the claims that it makes itself: in its pods their templates' names stand
    for them. One with ordinals by cluster has its headless Service beside it, which gives its Pods their names."""
    own = {text_at(claim, "metadata", "name") for claim in list_at(manifest, "spec", "volumeClaimTemplates")}
    named = template_dependencies(manifest)
    service = text_at(manifest, "spec", "serviceName") if numbers_by_cluster(manifest) else ""
    governing = [_core("Service", _namespace(manifest), service)] if service else []
    return [*(each for each in named if each.kind != "PersistentVolumeClaim" or each.name not in own), *governing]


def scheduled_job_dependencies(manifest: ReadOnlyManifest) -> list[DependentObjectReference]:
    return template_dependencies({**manifest, "spec": mapping_at(manifest, "spec", "jobTemplate", "spec")})


def bare_pod_dependencies(manifest: ReadOnlyManifest) -> list[DependentObjectReference]:
    return pod_dependencies(mapping_at(manifest, "spec"), _namespace(manifest))


def ingress_dependencies(manifest: ReadOnlyManifest) -> Collection[DependentObjectReference]:
    """The Secrets of its certificates, and the Services behind its paths and its default."""
    spec, namespace = mapping_at(manifest, "spec"), _namespace(manifest)
    secrets = [text_at(entry, "secretName") for entry in list_at(spec, "tls")]
    paths = [path for rule in list_at(spec, "rules") for path in list_at(rule, "http", "paths")]
    backends = [mapping_at(spec, "defaultBackend"), *(mapping_at(path, "backend") for path in paths)]
    services = [text_at(backend, "service", "name") for backend in backends]
    named = [("Secret", name) for name in secrets] + [("Service", name) for name in services]
    return [_core(kind, namespace, name) for kind, name in named if name]


def service_import_dependencies(manifest: ReadOnlyManifest) -> Collection[DependentObjectReference]:
    """The derived Service, and the slices of its endpoints, which have names that nobody knows beforehand."""
    namespace, service = _namespace(manifest), derived_service_name(text_at(manifest, "metadata", "name"))
    slices = DependentObjectReference(
        api_version="discovery.k8s.io/v1",
        kind="EndpointSlice",
        namespace=namespace,
        label_selector=LabelSelector(match_labels={SERVICE_NAME_LABEL: service}),
    )
    return [_core("Service", namespace, service), slices]


def _by_containers(pod_spec: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for container in (each for group in _CONTAINERS for each in list_at(pod_spec, group)):
        for kind, places in _BY_CONTAINER.items():
            for variables, path in places:
                yield from ((kind, text_at(variable, *path)) for variable in list_at(container, variables))


def _by_volumes(pod_spec: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for volume in list_at(pod_spec, "volumes"):
        yield from ((kind, text_at(volume, *path)) for kind, paths in _BY_VOLUME.items() for path in paths)
        for source in list_at(volume, "projected", "sources"):
            yield from ((kind, text_at(source, *path)) for kind, path in _BY_PROJECTION.items())


def _by_pod(pod_spec: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield from (("Secret", text_at(secret, "name")) for secret in list_at(pod_spec, "imagePullSecrets"))
    account = text_at(pod_spec, "serviceAccountName")
    if account != _IN_EVERY_NAMESPACE:
        yield "ServiceAccount", account


def _core(kind: str, namespace: str, name: str) -> DependentObjectReference:
    return DependentObjectReference(api_version="v1", kind=kind, namespace=namespace, name=name)


def _namespace(manifest: ReadOnlyManifest) -> str:
    return text_at(manifest, "metadata", "namespace")
