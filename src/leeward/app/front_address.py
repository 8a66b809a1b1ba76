"""Address of the cluster proxy of a control plane on a real kube-apiserver, and the kubeconfig that leads there.

The ConfigMap `karmada-system/leeward-cluster-proxy` has its URL and the authority of its certificate: no secrets.
"""

import base64
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from kubeapi.codec import render_yaml
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeapi.untrusted import mapping_in, text_in
from kubeclient import AlreadyExists, Client, NotFound, NotServed
from leeward.api.names import SYSTEM_NAMESPACE
from leeward.app.local import FleetError

NAME = "leeward-cluster-proxy"
CONFIG_MAPS: Resource[Manifest] = Resource.of_manifests("v1", "configmaps", "ConfigMap", True)
_FILES = ("client-certificate", "client-key", "tokenFile")
"""Fields of a user that name a file."""
_KEPT = ("proxy-url", "extensions")
"""Fields of a cluster that say how people reach it, and what plug-ins of their own need to know."""
_URL, _AUTHORITY = "url", "ca.crt"


@dataclass(frozen=True, slots=True)
class FrontAddress:
    """`authority` is PEM."""

    url: str
    authority: bytes


async def publish_front(client: Client, address: FrontAddress) -> None:
    """Writes the address where it says something else. Raises: WorldError."""
    data = {_URL: address.url, _AUTHORITY: address.authority.decode()}
    try:
        found = await client.get(CONFIG_MAPS, NAME, SYSTEM_NAMESPACE)
    except NotServed:
        raise
    except NotFound:
        try:
            await client.create(CONFIG_MAPS, {"metadata": {"name": NAME}, "data": data}, SYSTEM_NAMESPACE)
        except AlreadyExists:
            await client.patch(CONFIG_MAPS, NAME, {"data": data}, SYSTEM_NAMESPACE)
        return
    if found.get("data") != data:
        await client.patch(CONFIG_MAPS, NAME, {"data": data}, SYSTEM_NAMESPACE)


async def find_front(client: Client) -> FrontAddress | None:
    """Address of the cluster proxy; None where none has run. Raises: WorldError."""
    data = mapping_in(await client.find(CONFIG_MAPS, NAME, SYSTEM_NAMESPACE) or {}, "data")
    url = text_in(data, _URL)
    return FrontAddress(url, text_in(data, _AUTHORITY).encode()) if url else None


def kubeconfig_through(address: FrontAddress, kubeconfig: Manifest, context: str, directory: Path) -> str:
    """A kubeconfig with this context alone, which leads to the cluster proxy as the same user, by the same proxy.

    `directory` is the one that its files are named from; so is the command of a plug-in with a slash, as in kubectl.
    Raises: FleetError.
    """
    name = context or str(kubeconfig.get("current-context") or "")
    chosen = _named(kubeconfig, "contexts", "context", name)
    before = _named(kubeconfig, "clusters", "cluster", str(chosen.get("cluster", "")))
    cluster = {"server": address.url, "certificate-authority-data": base64.b64encode(address.authority).decode()}
    cluster |= {field: before[field] for field in _KEPT if field in before}
    user = _from(directory, _named(kubeconfig, "users", "user", str(chosen.get("user", ""))))
    made: Manifest = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [{"name": NAME, "cluster": cluster}],
        "contexts": [{"name": name, "context": {**chosen, "cluster": NAME}}],
        "users": [{"name": chosen.get("user"), "user": user}],
    }
    return render_yaml(made)


def _from(directory: Path, user: Manifest) -> Manifest:
    """The user, whose files count from anywhere."""
    made = user | {field: str(directory / str(user[field])) for field in _FILES if user.get(field)}
    command = text_in(mapping_in(user, "exec"), "command")
    if "/" in command:
        made["exec"] = {**user["exec"], "command": str(directory / command)}
    return made


def _named(kubeconfig: Manifest, section: str, inner: str, name: str) -> dict[str, Any]:
    """Raises: FleetError."""
    for entry in cast("list[Manifest]", kubeconfig.get(section) or []):
        if entry.get("name") == name:
            return cast("dict[str, Any]", entry.get(inner) or {})
    raise FleetError(f"the kubeconfig has no {inner} {name!r}: name one with --context")
