"""The scale subresource: an `autoscaling/v1` Scale as a view of three fields of an object."""

from typing import Any, cast

from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.status import Problem
from kubeserver.errors import internal_error, invalid
from kubeserver.kinds.administrative import SCALES
from kubeserver.kinds.columns import NONE, at, label_selector, labels
from kubeserver.kinds.kind import Kind, Scale
from kubeserver.values import section

SCALE = ("autoscaling", "v1", "Scale")
SCALE_KIND = Kind("autoscaling", "v1", "Scale", "scales", columns=SCALES)
"""Kind as which a Scale is shown; no objects of it are stored."""
_KEPT = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def render_scale(kind: Kind, manifest: ReadOnlyManifest) -> Manifest:
    """The Scale of an object. Holds: `kind.scale` is there."""
    paths = _paths(kind)
    metadata = {key: manifest["metadata"][key] for key in _KEPT if key in manifest["metadata"]}
    replicas = at(manifest, paths.spec_replicas.removeprefix("."), 0)
    status: dict[str, Any] = {"replicas": at(manifest, paths.status_replicas.removeprefix("."), 0)}
    selector = _selector_text(at(manifest, paths.selector.removeprefix("."))) if paths.selector else ""
    if selector:
        status["selector"] = selector
    spec = {"replicas": replicas} if replicas else {}
    return {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata, "spec": spec, "status": status}


def check_scalable(kind: Kind, manifest: ReadOnlyManifest) -> None:
    """A custom object without replicas has no Scale to show. Raises: Refused."""
    path = _paths(kind).spec_replicas
    if kind.custom and at(manifest, path.removeprefix(".")) is None:
        raise internal_error(f'the spec replicas field "{path}" does not exist')


def scaled(kind: Kind, manifest: Manifest, scale: ReadOnlyManifest) -> Manifest:
    """The object with the replicas, and the expected resourceVersion and uid, of a Scale. Raises: Refused.

    What is wrong with the replicas of a custom object, the rules of its own kind say.
    """
    replicas = section(scale, "spec").get("replicas", 0)
    if replicas < 0 and not kind.custom:
        problem = Problem.invalid("spec.replicas", replicas, "must be greater than or equal to 0")
        raise invalid("autoscaling", "Scale", manifest["metadata"]["name"], [problem])
    *parents, last = _paths(kind).spec_replicas.removeprefix(".").split(".")
    target = manifest
    for part in parents:
        target = cast(Manifest, target.setdefault(part, {}))
    target[last] = replicas
    return _expecting(manifest, scale)


def applied_scale(kind: Kind, name: str, config: ReadOnlyManifest) -> Manifest:
    """Manifest of what an applied Scale says about the object itself: of replicas only if it names them.
    Raises: Refused."""
    manifest: Manifest = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name}}
    if section(config, "spec").get("replicas") is None:
        return _expecting(manifest, config)
    return scaled(kind, manifest, config)


def _expecting(manifest: Manifest, scale: ReadOnlyManifest) -> Manifest:
    """Manifest with the uid and resourceVersion that the object has to have."""
    asked = section(scale, "metadata")
    manifest["metadata"] |= {key: asked[key] for key in ("uid", "resourceVersion") if asked.get(key)}
    return manifest


def _paths(kind: Kind) -> Scale:
    assert kind.scale is not None
    return kind.scale


def _selector_text(selector: Any) -> str:
    if isinstance(selector, str):
        return selector
    if not isinstance(selector, dict):
        return ""
    mapping = cast(dict[str, Any], selector)
    plain = "matchLabels" not in mapping and "matchExpressions" not in mapping
    text = labels(cast(dict[str, str], mapping)) if plain else label_selector(mapping)
    return "" if text == NONE else text
