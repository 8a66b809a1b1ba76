"""Fields that selectors may ask for, beyond names and namespaces: texts, as kube-apiserver makes them of each field.

What is not said reads as the empty value of its type: no text, 0, or false.
"""

from collections.abc import Callable, Mapping

from kubeapi.meta import ReadOnlyManifest
from kubeserver.kinds.columns import at

Fields = Mapping[str, Callable[[ReadOnlyManifest], str]]


def fields(*paths: str) -> Fields:
    """Texts, under the path at which they are."""
    return {path: _text(path) for path in paths}


def _text(path: str, default: str = "") -> Callable[[ReadOnlyManifest], str]:
    return lambda manifest: str(at(manifest, path, default))


def _flag(path: str) -> Callable[[ReadOnlyManifest], str]:
    return lambda manifest: str(bool(at(manifest, path))).lower()


def _source(event: ReadOnlyManifest) -> str:
    return at(event, "source.component", "") or at(event, "reportingComponent", "")


def _nothing(manifest: ReadOnlyManifest) -> str:
    """Text for a field that may be asked for, and that no object has."""
    del manifest
    return ""


_REFERENCE = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")

POD = {
    **fields(
        "spec.nodeName", "status.phase", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName",
        "status.podIP", "status.nominatedNodeName",
    ),
    "spec.host": _text("spec.nodeName"),
    "spec.hostNetwork": _flag("spec.hostNetwork"),
    "status.podIPs": _nothing,
}  # fmt: skip
NODE = {"spec.unschedulable": _flag("spec.unschedulable")}
REPLICAS = {"status.replicas": _text("status.replicas", "0")}
JOB = {"status.successful": _text("status.succeeded", "0")}
EVENT = {
    **fields(*(f"involvedObject.{part}" for part in _REFERENCE), "reason", "type", "reportingComponent"),
    "source": _source,
}
NEW_EVENT = {
    **{f"regarding.{part}": _text(f"involvedObject.{part}") for part in _REFERENCE},
    "reportingController": _text("reportingComponent"),
    **fields("reason", "type"),
}
