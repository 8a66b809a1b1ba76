"""Discovery: which groups, versions and resources there are, in its plain and its aggregated form."""

import hashlib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from kubeapi import codec
from kubeapi.transport import Response
from kubeserver.errors import JSON
from kubeserver.kinds.kind import Kind
from kubeserver.kinds.scheme import Scheme
from kubeserver.negotiation import YAML, Form, negotiate, parse_accept
from kubeserver.routing import GroupPath
from kubeserver.serialization.yaml import dump_yaml

_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
_CUSTOM_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_SUBRESOURCE_VERBS = ("get", "patch", "update")
_OWN_KINDS = {
    "attach": ("", "v1", "PodAttachOptions"),
    "binding": ("", "v1", "Binding"),
    "eviction": ("policy", "v1", "Eviction"),
    "exec": ("", "v1", "PodExecOptions"),
    "portforward": ("", "v1", "PodPortForwardOptions"),
    "proxy": ("", "v1", "PodProxyOptions"),
    "scale": ("autoscaling", "v1", "Scale"),
    "token": ("authentication.k8s.io", "v1", "TokenRequest"),
}
"""Group, version and kind of what is sent to a subresource, where that is not the object itself."""
_OWN_VERBS = {
    "attach": ("create", "get"),
    "binding": ("create",),
    "eviction": ("create",),
    "exec": ("create", "get"),
    "finalize": ("update",),
    "log": ("get",),
    "portforward": ("create", "get"),
    "proxy": ("create", "delete", "get", "patch", "update"),
    "token": ("create",),
}
_AGGREGATED = "APIGroupDiscoveryList"
MOST_HEADERS = 64
"""Most headers of which is remembered what they ask for; clients send one of a few."""


class Discovery:
    """Answers `/api`, `/apis`, a group or a version of it. What was answered once is kept until the scheme changes."""

    def __init__(self, scheme: Scheme) -> None:
        self._scheme = scheme
        self._generation = -1
        self._answers: dict[tuple[GroupPath, str], Response] = {}

    def answer(self, path: GroupPath, accept: str) -> Response:
        """The path is known to exist. Raises: Refused (406) for a form that is not spoken."""
        aggregated = "" if path.group or path.version else _aggregated_version(accept)
        form = Form() if aggregated else negotiate(accept, custom=self._is_custom(path))
        plain = self._plain(path, aggregated)
        if form.media_type != YAML:
            return plain
        return Response(200, dump_yaml(codec.decode_manifest(plain.body)), {"content-type": YAML})

    def _is_custom(self, path: GroupPath) -> bool:
        return bool(path.group) and not self._scheme.is_builtin_group(path.group or "")

    def _plain(self, path: GroupPath, aggregated: str) -> Response:
        if self._generation != self._scheme.generation:
            self._generation = self._scheme.generation
            self._answers.clear()
        key = (path, aggregated)
        if key not in self._answers:
            self._answers[key] = _answer(self._scheme, *key)
        return self._answers[key]


def _answer(scheme: Scheme, path: GroupPath, aggregated_version: str) -> Response:
    if path.version:
        return _json(_resource_list(scheme, path.group or "", path.version))
    if path.group:
        return _json({"kind": "APIGroup", "apiVersion": "v1", **_group(scheme, path.group)})
    groups = scheme.groups() if path.group is None else [""]
    if aggregated_version:
        body = _aggregated(scheme, groups, aggregated_version)
        return _json(body, f"{JSON};g=apidiscovery.k8s.io;v={aggregated_version};as={_AGGREGATED}")
    return _json(_group_list(scheme) if path.group is None else _core_versions())


def root_paths(scheme: Scheme, others: Iterable[str] = ()) -> list[str]:
    """Paths that `GET /` lists: every path above the kinds, and the `others`, which lead to none."""
    paths = ["/api", "/api/v1", "/apis", "/apis/", "/openapi/v2", "/openapi/v3", *others]
    for group in scheme.groups():
        paths += [f"/apis/{group}", *(f"/apis/{group}/{version}" for version in scheme.versions_of_group(group))]
    return sorted(paths)


def verbs_of(kind: Kind) -> Sequence[str]:
    if kind.ephemeral:
        return ("create",)
    if kind.derived:
        return ("get", "list")
    if kind.custom:
        return _CUSTOM_VERBS
    return tuple(verb for verb in _VERBS if verb != "deletecollection" or kind.prefix != "//namespaces/")


def _json(body: dict[str, Any], content_type: str = JSON) -> Response:
    return Response(200, codec.encode(body), {"content-type": content_type})


def _core_versions() -> dict[str, Any]:
    addresses = [{"clientCIDR": "0.0.0.0/0", "serverAddress": ""}]
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": addresses}


def _group_list(scheme: Scheme) -> dict[str, Any]:
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(scheme, g) for g in scheme.groups()]}


def _group(scheme: Scheme, group: str) -> dict[str, Any]:
    versions = [{"groupVersion": f"{group}/{v}", "version": v} for v in scheme.versions_of_group(group)]
    return {"name": group, "versions": versions, "preferredVersion": versions[0]}


def _kinds(scheme: Scheme, group: str, version: str) -> list[Kind]:
    return sorted((k for k in scheme.kinds_of_group(group) if k.version == version), key=lambda kind: kind.plural)


def _resource_list(scheme: Scheme, group: str, version: str) -> dict[str, Any]:
    resources = [entry for kind in _kinds(scheme, group, version) for entry in _resources(kind)]
    group_version = f"{group}/{version}" if group else version
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": resources}


def _resources(kind: Kind) -> list[dict[str, Any]]:
    main: dict[str, Any] = {
        "name": kind.plural,
        "singularName": kind.singular_name,
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": list(verbs_of(kind)),
    }
    if kind.short_names:
        main["shortNames"] = list(kind.short_names)
    if kind.categories:
        main["categories"] = list(kind.categories)
    if not (kind.ephemeral or kind.derived):
        main["storageVersionHash"] = _storage_hash(kind)
    return [main, *(_subresource(kind, name) for name in _subresources(kind))]


def _subresources(kind: Kind) -> Sequence[str]:
    """Subresources in the order in which they are installed."""
    return kind.all_subresources if kind.custom else sorted(kind.all_subresources)


def _subresource(kind: Kind, name: str) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": f"{kind.plural}/{name}", "singularName": "", "namespaced": kind.namespaced}
    own = _OWN_KINDS.get(name)
    if own is not None and own[0] != kind.group:
        entry |= {"group": own[0], "version": own[1]}
    return {**entry, "kind": own[2] if own else kind.kind, "verbs": list(_verbs_of_subresource(name))}


def _verbs_of_subresource(name: str) -> Sequence[str]:
    return _OWN_VERBS.get(name, _SUBRESOURCE_VERBS)


def _storage_hash(kind: Kind) -> str:
    text = f"{kind.group}/{kind.storage_version or kind.version}/{kind.kind}"
    return codec.encode(hashlib.sha256(text.encode()).digest()[:8]).decode().strip('"')


@lru_cache(maxsize=MOST_HEADERS)
def _aggregated_version(accept: str) -> str:
    """The version of aggregated discovery that is wanted and spoken; empty for the plain form."""
    for element in parse_accept(accept):
        if element.name == JSON and "as" not in element.parameters:
            return ""
        if element.parameters.get("as") == _AGGREGATED and element.parameters.get("v") == "v2":
            return "v2"
    return ""


def _aggregated(scheme: Scheme, groups: Sequence[str], version: str) -> dict[str, Any]:
    items = [_aggregated_group(scheme, group) for group in groups]
    return {"kind": _AGGREGATED, "apiVersion": f"apidiscovery.k8s.io/{version}", "metadata": {}, "items": items}


def _aggregated_group(scheme: Scheme, group: str) -> dict[str, Any]:
    versions = [
        {
            "version": version,
            "freshness": "Current",
            "resources": [_aggregated_resource(kind) for kind in _kinds(scheme, group, version)],
        }
        for version in scheme.versions_of_group(group)
    ]
    return {"metadata": {"name": group} if group else {}, "versions": versions}


def _aggregated_resource(kind: Kind) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "resource": kind.plural,
        "responseKind": _response_kind(kind, ""),
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": kind.singular_name,
        "verbs": list(verbs_of(kind)),
    }
    if kind.short_names:
        entry["shortNames"] = list(kind.short_names)
    if kind.categories:
        entry["categories"] = list(kind.categories)
    subresources = [
        {
            "subresource": name,
            "responseKind": _response_kind(kind, name),
            "verbs": list(_verbs_of_subresource(name)),
        }
        for name in _subresources(kind)
    ]
    return {**entry, "subresources": subresources} if subresources else entry


def _response_kind(kind: Kind, subresource: str) -> dict[str, str]:
    """Built-in kinds leave out group and version where they are those of the list."""
    if subresource in _OWN_KINDS:
        group, version, name = _OWN_KINDS[subresource]
        return {"group": group, "version": version if group else "", "kind": name}
    if kind.custom:
        return {"group": kind.group, "version": kind.version, "kind": kind.kind}
    return {"group": "", "version": "", "kind": kind.kind}
