"""Joining Push members to the control plane, and the leaving of all members.

A Pull member is joined by its own agent. Karmada: `karmadactl join` and `unjoin`; the same objects.
"""

import base64
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus

from kubeapi.core import NAMESPACES, SECRETS
from kubeapi.meta import Manifest
from leeward.api.names import (
    CLUSTER_NAMESPACE,
    EXECUTION_CONTROLLER_FINALIZER,
    IMPERSONATOR_ROLE_ANNOTATION,
    execution_space,
    impersonator_of,
)
from leeward.api.resource import CLUSTERS, WORKS
from leeward.app.config import SPEAKER_ACCESS
from leeward.app.local.api import AdminClient, NoAnswer, Refused
from leeward.app.local.credentials import read_token
from leeward.app.local.errors import FleetError
from leeward.app.local.fleet import Member
from leeward.app.local.layout import Layout
from leeward.app.local.waiting import wait_until
from leeward.core.registration import IDENTIFYING_NAMESPACE

REMOVE_SECONDS = 20.0
READY_SECONDS = 15.0
REJOIN_SECONDS = 5.0
_OWN_ROLE = {IMPERSONATOR_ROLE_ANNOTATION: SPEAKER_ACCESS}
"""A local member gives its impersonator the rights by itself."""


def identity_of(layout: Layout, member: Member) -> str:
    """The UID of its Namespace kube-system, by which a cluster is known. Raises: FleetError."""
    api = AdminClient(layout, member.port, component=member.name)
    try:
        namespace = api.find(NAMESPACES.path(name=IDENTIFYING_NAMESPACE))
    finally:
        api.close()
    if namespace is None:
        raise FleetError(f"member {member.name} has no Namespace {IDENTIFYING_NAMESPACE}, by whose UID it is known")
    return namespace["metadata"]["uid"]


def joined_as(api: AdminClient, name: str, cluster_id: str) -> str:
    """The other name under which the cluster with this id has joined; empty when there is none."""
    clusters = api.list(CLUSTERS.path()) if cluster_id else []
    others = (_name_of(cluster) for cluster in clusters if cluster["spec"].get("id") == cluster_id)
    return next((other for other in others if other != name), "")


def join_push_member(api: AdminClient, layout: Layout, member: Member, cluster_id: str) -> None:
    """Creates the Secrets and the Cluster of `member`, or brings them up to date. An empty id is not known."""
    _ensure_namespace(api)
    token = read_token(layout.tokens(member.name))
    _ensure_secret(api, _secret(layout, member.name, token))
    _ensure_secret(api, _impersonator_secret(layout, member))
    _ensure(api, CLUSTERS.path(name=member.name), CLUSTERS.path(), _cluster(member, cluster_id))


def offer_pull_member(api: AdminClient, layout: Layout, member: Member, cluster_id: str) -> None:
    """Tells the control plane how to reach a member whose agent has joined it: as an agent does that reports Secrets.

    Karmada: `karmadactl register`, with a cluster API endpoint.
    """
    _ensure_namespace(api)
    _ensure_secret(api, _secret(layout, member.name, read_token(layout.tokens(member.name))))
    _ensure_secret(api, _impersonator_secret(layout, member))
    change = {"metadata": {"annotations": _OWN_ROLE}, "spec": _access(member, cluster_id)}
    api.merge(CLUSTERS.path(name=member.name), change)


def offer_anew(api: AdminClient, layout: Layout, member: Member, cluster_id: str) -> None:
    """Offers as `offer_pull_member`, where nobody has done so since its agent has joined it. Raises: FleetError."""
    path = CLUSTERS.path(name=member.name)
    if not wait_until(lambda: api.find(path) is not None, REJOIN_SECONDS, poll_seconds=0.1):
        raise FleetError(f"its agent has not joined it within {REJOIN_SECONDS:g} s")
    if "impersonatorSecretRef" not in (api.find(path) or {"spec": {}})["spec"]:
        offer_pull_member(api, layout, member, cluster_id)


def take_back(api: AdminClient, member: Member, cluster_id: str) -> None:
    """Deletes the objects of a joined member, but none of another cluster of its name. Raises: FleetError."""
    spec: Manifest = (api.find(CLUSTERS.path(name=member.name)) or {}).get("spec", {})
    is_ours = spec.get("apiEndpoint") == _endpoint(member) or (cluster_id and spec.get("id") == cluster_id)
    if not spec or is_ours:
        leave(api, member, force=True)


def leave(api: AdminClient, member: Member, *, force: bool = False) -> None:
    """Deletes the Cluster, waits until it is gone, and deletes its Secret.

    With `force` our finalizer is taken off the Works, so that copies in a dead member are given up.
    Raises: FleetError when the Cluster does not go.
    """
    path = CLUSTERS.path(name=member.name)
    api.delete(path)
    if not wait_until(_leaves(api, path, member.name, force=force), REMOVE_SECONDS, poll_seconds=0.2):
        raise FleetError(
            f"member {member.name} does not leave: its Works cannot be cleaned up while it is not ready. "
            f"Bring it back (`leeward member start|resume|ready {member.name}`), or give up what runs there "
            f"(`leeward member remove {member.name} --force`)"
        )
    for secret in (member.name, impersonator_of(member.name)):
        api.delete(SECRETS.path(CLUSTER_NAMESPACE, secret))


def wait_ready_clusters(api: AdminClient, names: set[str]) -> set[str]:
    """Waits for the clusters of `names`; returns those that did not become Ready, or were not told of, in time."""
    late = set(names)

    def all_ready() -> bool:
        with suppress(NoAnswer):  # a control plane that begins with many or large objects answers late
            late.difference_update(_name_of(cluster) for cluster in api.list(CLUSTERS.path()) if _is_ready(cluster))
        return not late

    wait_until(all_ready, READY_SECONDS, poll_seconds=0.1)
    return late


def _leaves(api: AdminClient, path: str, name: str, *, force: bool) -> Callable[[], bool]:
    def has_left() -> bool:
        if force:
            _release_works(api, name)
        return api.find(path) is None

    return has_left


def _release_works(api: AdminClient, name: str) -> None:
    space = execution_space(name)
    for work in api.list(WORKS.path(space)):
        path = WORKS.path(space, _name_of(work))
        api.delete(path)
        _take_finalizer_off(api, path)


def _take_finalizer_off(api: AdminClient, path: str) -> None:
    """Takes our finalizer off a Work that is going, as it is now; one that changed meanwhile is looked at again.

    Holds: S5.
    """
    metadata: Manifest = (api.find(path) or {}).get("metadata", {})
    present: list[str] = metadata.get("finalizers") or []
    if "deletionTimestamp" not in metadata or EXECUTION_CONTROLLER_FINALIZER not in present:
        return
    finalizers = [each for each in present if each != EXECUTION_CONTROLLER_FINALIZER]
    bound = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
    try:
        api.merge(path, {"metadata": {"finalizers": finalizers or None, **bound}})
    except Refused as error:
        if error.code not in (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT):
            raise


def _ensure_namespace(api: AdminClient) -> None:
    if api.find(NAMESPACES.path(name=CLUSTER_NAMESPACE)) is None:
        api.create(
            NAMESPACES.path(), {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": CLUSTER_NAMESPACE}}
        )


def _ensure(api: AdminClient, path: str, collection: str, manifest: Manifest) -> None:
    if api.find(path) is None:
        api.create(collection, manifest)
    else:
        api.merge(path, manifest)


def _ensure_secret(api: AdminClient, secret: Manifest) -> None:
    path = SECRETS.path(CLUSTER_NAMESPACE, secret["metadata"]["name"])
    _ensure(api, path, SECRETS.path(CLUSTER_NAMESPACE), secret)


def _secret(layout: Layout, name: str, token: str = "") -> Manifest:
    data = {"caBundle": (layout.pki / "ca.crt").read_bytes(), **({"token": token.encode()} if token else {})}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": CLUSTER_NAMESPACE},
        "type": "Opaque",
        "data": {key: base64.b64encode(value).decode() for key, value in data.items()},
    }


def _impersonator_secret(layout: Layout, member: Member) -> Manifest:
    return _secret(layout, impersonator_of(member.name), read_token(layout.impersonator_tokens(member.name)))


def _cluster(member: Member, cluster_id: str) -> Manifest:
    return {
        "apiVersion": CLUSTERS.api_version,
        "kind": "Cluster",
        "metadata": {"name": member.name, "annotations": _OWN_ROLE},
        "spec": {"syncMode": "Push", **_access(member, cluster_id)},
    }


def _endpoint(member: Member) -> str:
    return f"https://127.0.0.1:{member.port}"


def _access(member: Member, cluster_id: str) -> Manifest:
    return {
        **({"id": cluster_id} if cluster_id else {}),
        "apiEndpoint": _endpoint(member),
        "secretRef": {"namespace": CLUSTER_NAMESPACE, "name": member.name},
        "impersonatorSecretRef": {"namespace": CLUSTER_NAMESPACE, "name": impersonator_of(member.name)},
    }


def _name_of(manifest: Manifest) -> str:
    return manifest["metadata"]["name"]


def _is_ready(cluster: Manifest) -> bool:
    conditions = cluster.get("status", {}).get("conditions", [])
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)
