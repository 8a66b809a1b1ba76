"""The accounts that a member gives to the control plane when it joins in Push mode.

    karmada-NAME            may do everything: carries out what is placed there
    karmada-impersonator    may do nothing but impersonate: speaks for the users of the cluster proxy

Each is a ServiceAccount in karmada-cluster with a Secret that holds its token, a ClusterRole and its binding. The
annotation `leeward.dev/hub` says which control plane has made them: several may use one impersonator. Where another
one calls the member by the same name, karmada-NAME is its own and goes when it leaves: ours is karmada-NAME-HUB then.

Karmada: pkg/util/credential.go, the same accounts. The control plane asks for the right to `clusters/proxy`, and the
member for all others; `unified_auth` cuts the impersonator down to who has that right, where it runs.
"""

import asyncio
from dataclasses import dataclass, field, replace
from typing import Any, cast

from controller_runtime import delete_seen
from kubeapi.core import SECRETS
from kubeapi.diff import is_equal
from kubeapi.meta import Manifest, annotations_of
from kubeapi.resource import Resource
from kubeclient import Client
from leeward.api.names import CLUSTER_NAMESPACE, HUB_ANNOTATION
from leeward.app.access import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, EVERYTHING, OURS, SPEAKING
from leeward.app.config import IMPERSONATOR
from leeward.app.install.manifests import SERVICE_ACCOUNTS
from leeward.app.local import FleetError
from leeward.controllers.unified_auth.unified_auth import is_made_by_joining

FIELD_MANAGER = "leeward-join"
HUB_CHARACTERS = 8
"""Part of the identity of a control plane that tells its account from those of others."""
TOKEN_SECONDS, POLL_SECONDS = 30.0, 0.2
_TOKEN_TYPE = "kubernetes.io/service-account-token"
_ACCOUNT_OF_TOKEN = "kubernetes.io/service-account.name"
_NAMESPACES = Resource.of_manifests("v1", "namespaces", "Namespace", False)
_SECRETS = Resource.of_manifests("v1", "secrets", "Secret", True)
_SAYING = ("rules", "roleRef", "subjects")
_FOREIGN = (
    "in the member, {kind} {name} is somebody else's, and says something else than joining would: "
    "rename or delete it, and join again; nothing was written"
)


@dataclass(frozen=True, slots=True)
class Account:
    """A ServiceAccount in the member, and its ClusterRole."""

    name: str
    role: str
    rules: list[Manifest] = field(compare=False)


def accounts_of(cluster: str) -> tuple[Account, Account]:
    """Accounts of the control plane in a member: the one that may do everything, and the one that impersonates
    users."""
    name = f"karmada-{cluster}"
    return Account(name, f"karmada-controller-manager:{name}", EVERYTHING), Account(
        IMPERSONATOR, IMPERSONATOR, SPEAKING
    )


def beside(account: Account, hub: str) -> Account:
    """The account that the control plane `hub` has where another one has `account`."""
    ending = f"-{hub[:HUB_CHARACTERS]}"
    return replace(account, name=account.name + ending, role=account.role + ending)


async def free_account(member: Client, account: Account, hub: str) -> Account:
    """The account, or the one beside it where another control plane has made a part of it. Raises: WorldError."""
    found = [
        await _find(member, resource, manifest, namespace) for resource, manifest, namespace in _parts(account, {})
    ]
    hubs = {annotations_of(there).get(HUB_ANNOTATION, hub) for there in found if there is not None}
    return beside(account, hub) if hub and hubs - {hub} else account


async def open_account(member: Client, account: Account, hub: str = "") -> bytes:
    """Makes it, or brings it up to date; gives its token. `hub` is the identity of the control plane.

    What another control plane has made by joining is used as it is, and so is what says the same; nothing of it is
    written. Raises: WorldError; FleetError when there is no token, or something of that name is somebody else's.
    Holds: S6.
    """
    parts = _parts(account, {HUB_ANNOTATION: hub} if hub else {})
    found = [await _find(member, resource, manifest, namespace) for resource, manifest, namespace in parts]
    for (resource, manifest, _), there in zip(parts, found, strict=True):
        if there is not None and not _is_ours(there, hub) and not _serves(there, manifest):
            raise FleetError(_FOREIGN.format(kind=resource.kind, name=manifest["metadata"]["name"]))
    for (resource, manifest, namespace), there in zip(parts, found, strict=True):
        if there is None or _is_ours(there, hub):
            await member.apply(resource, manifest, namespace, field_manager=FIELD_MANAGER)
    return await _token(member, account.name)


async def close_account(member: Client, account: Account, hub: str = "") -> list[str]:
    """Takes it out of the member, but for what this control plane has not made there, which is returned by kind and
    name. Raises: WorldError. Holds: S6."""
    kept: list[str] = []
    for resource, manifest, namespace in reversed(_parts(account, {})):
        name = manifest["metadata"]["name"]
        if resource is not _NAMESPACES and not await delete_seen(
            member, resource, name, namespace, only=lambda there: _is_ours(there, hub)
        ):
            kept += [f"{resource.kind} {name}"] if await _find(member, resource, manifest, namespace) else []
    return kept


def _parts(account: Account, annotations: dict[str, str]) -> list[tuple[Resource[Manifest], Manifest, str]]:
    """The objects of an account, in the order in which they are made, each with its namespace."""
    metadata = {"name": account.name, "namespace": CLUSTER_NAMESPACE}
    bound = {"name": account.role, "annotations": annotations}
    token: Manifest = {
        "metadata": {**metadata, "annotations": {**annotations, _ACCOUNT_OF_TOKEN: account.name}},
        "type": _TOKEN_TYPE,
    }
    binding: Manifest = {
        "metadata": bound,
        "roleRef": {"apiGroup": CLUSTER_ROLES.group, "kind": "ClusterRole", "name": account.role},
        "subjects": [{"kind": "ServiceAccount", **metadata}],
    }
    return [
        (_NAMESPACES, {"metadata": {"name": CLUSTER_NAMESPACE}}, ""),
        (SERVICE_ACCOUNTS, {"metadata": {**metadata, "annotations": annotations}}, CLUSTER_NAMESPACE),
        (_SECRETS, token, CLUSTER_NAMESPACE),
        (CLUSTER_ROLES, {"metadata": {**bound, "labels": OURS}, "rules": account.rules}, ""),
        (CLUSTER_ROLE_BINDINGS, binding, ""),
    ]


async def _find(member: Client, resource: Resource[Manifest], manifest: Manifest, namespace: str) -> Manifest | None:
    """Raises: WorldError."""
    return await member.find(resource, manifest["metadata"]["name"], namespace)


def _is_ours(found: Manifest, hub: str) -> bool:
    """Tells whether this control plane has made it, as its annotation says. Where it has none an earlier version did,
    if it was applied as joining does."""
    marked = annotations_of(found).get(HUB_ANNOTATION)
    if marked is not None:
        return marked == hub
    entries: list[Manifest] = found["metadata"].get("managedFields") or []
    return any(entry.get("manager") == FIELD_MANAGER for entry in entries)


def _serves(found: Manifest, wanted: Manifest) -> bool:
    """Tells whether an object of somebody else can be used as it is: a role that was made by joining, whose rules may
    be cut down, or what says the same."""
    if "rules" in wanted and is_made_by_joining(found):
        return True
    account = annotations_of(wanted).get(_ACCOUNT_OF_TOKEN)
    said = (found.get("type"), annotations_of(found).get(_ACCOUNT_OF_TOKEN)) == (wanted.get("type"), account)
    return said and all(is_equal(_plain(found.get(field)), _plain(wanted.get(field))) for field in _SAYING)


def _plain(value: Any) -> Any:
    """Value without fields that the API server fills in by itself."""
    if isinstance(value, list):
        return [_plain(each) for each in cast("list[Any]", value)]
    if isinstance(value, dict):
        fields = cast(Manifest, value)
        return {name: _plain(each) for name, each in fields.items() if (name, each) != ("apiGroup", "")}
    return value


async def _token(member: Client, account: str) -> bytes:
    """Token that the member's token controller has put into the Secret of the account."""
    try:
        async with asyncio.timeout(TOKEN_SECONDS):
            while True:
                secret = await member.get(SECRETS, account, CLUSTER_NAMESPACE)
                if token := secret.data.get("token"):
                    return token
                await asyncio.sleep(POLL_SECONDS)
    except TimeoutError:
        raise FleetError(
            f"the member has put no token into the Secret {CLUSTER_NAMESPACE}/{account} within {TOKEN_SECONDS:g} s: "
            "does its kube-controller-manager run?"
        ) from None
