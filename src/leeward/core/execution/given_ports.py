"""Node ports of a Service that the control plane's API server gave out: they mean nothing in a member, which chooses.

    as_asked           the template with 0 where nobody asked for the port, so that overrides can replace it
    without_unasked    the manifest for a cluster, without what is 0 then

Somebody asked for a port where a field manager owns the field, or kubectl's last applied configuration has it. A
kube-apiserver gives ports out after it has noted who owns which field, so nobody owns such a port. A Service that says
neither is passed on as it is. Differs from Karmada, which passes all of them on: a member that has given the port to
another Service refuses this one.
"""

import json
from collections.abc import Mapping
from typing import Any, cast

from kubeapi.diff import is_equal
from kubeapi.meta import ReadOnlyManifest, annotations_of
from kubeapi.node_ports import HEALTH_PORT, NODE_PORT, is_opened, node_ports_of, port_key
from kubeapi.unstructured import int_at, list_at, mapping_at, mappings_at, text_at
from leeward.api.work import Work

LAST_APPLIED_ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"


def as_asked(template: ReadOnlyManifest) -> ReadOnlyManifest:
    """The same object where everything was asked for, where nobody can tell, and of any other kind."""
    if not is_opened(template):
        return template
    owners, applied = _owned(template), _json(annotations_of(template).get(LAST_APPLIED_ANNOTATION, ""))
    if not owners and applied is None:
        return template
    asked = {port_key(port) for port in mappings_at(applied or {}, "spec", "ports") if int_at(port, NODE_PORT)}
    spec = mapping_at(template, "spec")
    ports = [
        port if port_key(port) in asked or any(_owns(owned, port) for owned in owners) else _unasked(port, NODE_PORT)
        for port in mappings_at(template, "spec", "ports")
    ]
    is_health_asked = bool(int_at(applied or {}, "spec", HEALTH_PORT)) or any(
        f"f:{HEALTH_PORT}" in owned for owned in owners
    )
    spec = {**(spec if is_health_asked else _unasked(spec, HEALTH_PORT)), "ports": ports}
    return template if is_equal(spec, template["spec"]) else {**template, "spec": spec}


def without_unasked(manifest: ReadOnlyManifest, template: ReadOnlyManifest, work: Work | None) -> ReadOnlyManifest:
    """The manifest without ports that nobody asked for, but for those that the Work has brought into its cluster.

    So an upgrade, and a switch from Karmada, change neither Works nor members. One that was refused there is not kept.
    """
    given = node_ports_of(template)
    if not is_opened(template):
        return manifest
    before: ReadOnlyManifest = work.spec.workload.manifests[0] if work is not None and _is_applied(work) else {}
    kept = {key: port for key, port in node_ports_of(before).items() if given.get(key) == port}
    keyed = [(port_key(port), port) for port in mappings_at(manifest, "spec", "ports")]
    ports = [_settled(port, NODE_PORT, key in given, kept.get(key, 0)) for key, port in keyed]
    health = int_at(template, "spec", HEALTH_PORT)
    kept_health = health if int_at(before, "spec", HEALTH_PORT) == health else 0
    spec = _settled(mapping_at(manifest, "spec"), HEALTH_PORT, bool(health), kept_health)
    return {**manifest, "spec": {**spec, "ports": ports}} if ports else manifest


def _settled(holder: ReadOnlyManifest, name: str, is_given: bool, kept: int) -> ReadOnlyManifest:
    """Gives what has no port of its own the one that is kept, or none."""
    if not is_given or int_at(holder, name):
        return holder
    rest = {key: value for key, value in holder.items() if key != name}
    return {**rest, name: kept} if kept else rest


def _is_applied(work: Work) -> bool:
    return bool(work.spec.workload.manifests) and work.applied is not None and work.applied.status == "True"


def _unasked(holder: ReadOnlyManifest, name: str) -> ReadOnlyManifest:
    return {**holder, name: 0} if int_at(holder, name) else holder


def _owned(template: ReadOnlyManifest) -> list[Mapping[str, Any]]:
    """Fields of the spec that each manager owns, of those that tell."""
    entries = [mapping_at({"entry": each}, "entry") for each in list_at(template, "metadata", "managedFields")]
    told = [each for each in entries if "fieldsV1" in each and not text_at(each, "subresource")]
    return [mapping_at(each, "fieldsV1", "f:spec") for each in told]


def _owns(owned: Mapping[str, Any], port: ReadOnlyManifest) -> bool:
    number, protocol = port_key(port)
    ports = mapping_at(owned, "f:ports")
    return any(
        (int_at(key, "port"), text_at(key, "protocol")) == (number, protocol)
        and f"f:{NODE_PORT}" in mapping_at(ports, name)
        for name in ports
        if (key := _key_in(name)) is not None
    )


def _key_in(name: str) -> Mapping[str, Any] | None:
    """Key of a list's item: `k:{"port":80,"protocol":"TCP"}`."""
    return _json(name.removeprefix("k:")) if name.startswith("k:") else None


def _json(text: str) -> Mapping[str, Any] | None:
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return cast(Mapping[str, Any], found) if isinstance(found, dict) else None
