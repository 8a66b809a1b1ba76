"""The accounts that a member gives to the control plane when it joins in Push mode.

    karmada-NAME            may do everything: carries out what is placed there
    karmada-impersonator    may do nothing but impersonate: speaks for the users of the cluster proxy

Each is a ServiceAccount in karmada-cluster with a Secret that holds its token, a ClusterRole and its binding.

Karmada: pkg/util/credential.go, the same accounts. The control plane asks for the right to `clusters/proxy`, and the
member for all others; `unified_auth` cuts the impersonator down to who has that right, where it runs.
"""

import asyncio
from dataclasses import dataclass, field

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from leeward.api.names import CLUSTER_NAMESPACE
from leeward.api.resource import SECRETS
from leeward.app.access import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, EVERYTHING, OURS, SPEAKING
from leeward.app.config import IMPERSONATOR
from leeward.app.install.manifests import SERVICE_ACCOUNTS
from leeward.app.local.errors import FleetError
from leeward.client import Client
from leeward.runtime.deleting import delete_seen

FIELD_MANAGER = "leeward-join"
TOKEN_SECONDS, POLL_SECONDS = 30.0, 0.2
_TOKEN_TYPE = "kubernetes.io/service-account-token"
_UNTYPED_NAMESPACES = Resource.of_manifests("v1", "namespaces", "Namespace", False)
_UNTYPED_SECRETS = Resource.of_manifests("v1", "secrets", "Secret", True)


@dataclass(frozen=True, slots=True)
class Account:
    """A ServiceAccount in the member, and its ClusterRole."""

    name: str
    role: str
    rules: list[Manifest] = field(compare=False)


def accounts_of(cluster: str) -> tuple[Account, Account]:
    """The one that may do everything, and the one that speaks for users."""
    name = f"karmada-{cluster}"
    return Account(name, f"karmada-controller-manager:{name}", EVERYTHING), Account(
        IMPERSONATOR, IMPERSONATOR, SPEAKING
    )


async def open_account(member: Client, account: Account) -> bytes:
    """Makes it, or brings it up to date; gives its token. Raises: WorldError; FleetError when there is no token."""
    metadata = {"name": account.name, "namespace": CLUSTER_NAMESPACE}
    token: Manifest = {
        "metadata": {**metadata, "annotations": {"kubernetes.io/service-account.name": account.name}},
        "type": _TOKEN_TYPE,
    }
    role: Manifest = {"metadata": {"name": account.role, "labels": OURS}, "rules": account.rules}
    binding: Manifest = {
        "metadata": {"name": account.role},
        "roleRef": {"apiGroup": CLUSTER_ROLES.group, "kind": "ClusterRole", "name": account.role},
        "subjects": [{"kind": "ServiceAccount", **metadata}],
    }
    for resource, namespace, manifest in (
        (_UNTYPED_NAMESPACES, "", {"metadata": {"name": CLUSTER_NAMESPACE}}),
        (SERVICE_ACCOUNTS, CLUSTER_NAMESPACE, {"metadata": metadata}),
        (_UNTYPED_SECRETS, CLUSTER_NAMESPACE, token),
        (CLUSTER_ROLES, "", role),
        (CLUSTER_ROLE_BINDINGS, "", binding),
    ):
        await member.apply(resource, manifest, namespace, field_manager=FIELD_MANAGER)
    return await _token(member, account.name)


async def close_account(member: Client, account: Account) -> None:
    """Takes it out of the member. Raises: WorldError."""
    for resource, name, namespace in (
        (CLUSTER_ROLE_BINDINGS, account.role, ""),
        (CLUSTER_ROLES, account.role, ""),
        (SECRETS, account.name, CLUSTER_NAMESPACE),
        (SERVICE_ACCOUNTS, account.name, CLUSTER_NAMESPACE),
    ):
        await delete_seen(member, resource, name, namespace)


async def _token(member: Client, account: str) -> bytes:
    """What the member's token controller has put into the Secret of the account."""
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
