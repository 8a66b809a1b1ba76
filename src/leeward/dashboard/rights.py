"""Sight that a user has of a fleet, asked of the control plane itself: access reviews in the user's own name.

What may be listed everywhere is seen everywhere; else each namespace is asked about by itself. What could not be
asked is not seen. The answer is kept for a moment only, so that a right that is taken away is gone soon.
"""

import asyncio
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kubeapi.core import CONFIG_MAPS
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeapi.untrusted import mapping_in, text_in
from kubeclient import Client
from leeward.api.names import BRAKE_NAME, SYSTEM_NAMESPACE
from leeward.api.resource import (
    CLUSTER_PROPAGATION_POLICIES,
    CLUSTER_RESOURCE_BINDINGS,
    CLUSTERS,
    OUTAGES,
    PROPAGATION_POLICIES,
    RESOURCE_BINDINGS,
    WORKLOAD_REBALANCERS,
)

ACCESS_REVIEWS = Resource.of_manifests(
    "authorization.k8s.io/v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", False
)
SELF_REVIEWS = Resource.of_manifests("authentication.k8s.io/v1", "selfsubjectreviews", "SelfSubjectReview", False)
TOKEN_REVIEWS = Resource.of_manifests("authentication.k8s.io/v1", "tokenreviews", "TokenReview", False)
ASKED_AT_ONCE = 8
MOST_NAMESPACES = 500
"""Namespaces that are asked about one by one; of what is in others a user who may not list everywhere sees nothing."""


@dataclass(frozen=True, slots=True)
class Right:
    """One verb on one kind, as an access review asks for it; `namespace` empty is everywhere."""

    verb: str
    resource: Resource[Any]
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    def __str__(self) -> str:
        where = f" in the namespace {self.namespace}" if self.namespace else ""
        what = f"{self.resource.group_resource}{'/' + self.subresource if self.subresource else ''}"
        return f"{self.verb} {what}{' ' + self.name if self.name else ''}{where}"


@dataclass(frozen=True, slots=True)
class FleetSight:
    """Sight of a fleet: kinds of the whole fleet, and namespaces; `namespaces` is None for all of them.

    `missing` names the rights that would show more, as sentences.
    """

    clusters: bool = False
    outages: bool = False
    cluster_bindings: bool = False
    cluster_policies: bool = False
    brake: bool = False
    namespaces: frozenset[str] | None = frozenset()
    policy_namespaces: frozenset[str] | None = frozenset()
    missing: tuple[str, ...] = ()

    def shows(self, namespace: str) -> bool:
        """Tells whether a binding of this namespace is seen; empty is a binding without one."""
        if not namespace:
            return self.cluster_bindings
        return self.namespaces is None or namespace in self.namespaces

    def shows_policy(self, namespace: str) -> bool:
        if not namespace:
            return self.cluster_policies
        return self.policy_namespaces is None or namespace in self.policy_namespaces

    @property
    def is_whole(self) -> bool:
        return self.namespaces is None and self.cluster_bindings and self.clusters


NOTHING_SEEN = FleetSight()
WHOLE_SIGHT = FleetSight(True, True, True, True, True, None, None)
"""Sight of who may list everything: administrators share it, whatever their names."""


async def review_sight(client: Client, user: str, namespaces: Collection[str]) -> FleetSight:
    """Sight that the client's user has of a fleet with these namespaces. Raises: WorldError."""
    wide = {
        "clusters": Right("list", CLUSTERS),
        "outages": Right("list", OUTAGES),
        "cluster_bindings": Right("list", CLUSTER_RESOURCE_BINDINGS),
        "cluster_policies": Right("list", CLUSTER_PROPAGATION_POLICIES),
        "brake": Right("get", CONFIG_MAPS, SYSTEM_NAMESPACE, BRAKE_NAME),
    }
    everywhere = {kind: Right("list", kind) for kind in (RESOURCE_BINDINGS, PROPAGATION_POLICIES)}
    allowed = await _ask_all(client, (*wide.values(), *everywhere.values()))
    asked = sorted(namespaces)[:MOST_NAMESPACES]
    seen = {kind: await _namespaces(client, right, allowed, asked) for kind, right in everywhere.items()}
    denied = [right for right in (*wide.values(), *everywhere.values()) if not allowed[right]]
    return FleetSight(
        **{name: allowed[right] for name, right in wide.items()},
        namespaces=seen[RESOURCE_BINDINGS],
        policy_namespaces=seen[PROPAGATION_POLICIES],
        missing=tuple(_sentence(user, right, seen.get(right.resource)) for right in denied),
    )


async def may(client: Client, right: Right) -> bool:
    """Raises: WorldError where it could not be asked."""
    attributes: Manifest = {
        "verb": right.verb,
        "group": right.resource.group,
        "version": right.resource.version,
        "resource": right.resource.plural,
        "subresource": right.subresource,
        "namespace": right.namespace,
        "name": right.name,
    }
    given = {key: value for key, value in attributes.items() if value}
    answer = await client.create(ACCESS_REVIEWS, {"spec": {"resourceAttributes": given}})
    return mapping_in(answer, "status").get("allowed") is True


async def name_of_user(client: Client) -> str:
    """Name by which the control plane knows the client's user. Raises: Unauthorized, WorldError."""
    answer = await client.create(SELF_REVIEWS, {})
    return text_in(mapping_in(mapping_in(answer, "status"), "userInfo"), "username")


async def name_of_token(client: Client, token: str) -> str:
    """Name of the user whose token it is, asked of the control plane with the identity of `client`; empty where the
    control plane does not say. Raises: Forbidden, WorldError."""
    status = mapping_in(await client.create(TOKEN_REVIEWS, {"spec": {"token": token}}), "status")
    return text_in(mapping_in(status, "user"), "username") if status.get("authenticated") is True else ""


async def _namespaces(
    client: Client, everywhere: Right, allowed: Mapping[Right, bool], namespaces: Iterable[str]
) -> frozenset[str] | None:
    if allowed[everywhere]:
        return None
    rights = [Right(everywhere.verb, everywhere.resource, namespace) for namespace in namespaces]
    return frozenset(right.namespace for right, is_allowed in (await _ask_all(client, rights)).items() if is_allowed)


async def _ask_all(client: Client, rights: Iterable[Right]) -> Mapping[Right, bool]:
    few = asyncio.Semaphore(ASKED_AT_ONCE)

    async def ask(right: Right) -> bool:
        async with few:
            return await may(client, right)

    wanted = list(rights)
    return dict(zip(wanted, await asyncio.gather(*map(ask, wanted)), strict=True))


def _sentence(user: str, right: Right, namespaces: frozenset[str] | None) -> str:
    """`operator may not list resourcebindings.work.karmada.io in all namespaces; ...`"""
    if not right.resource.namespaced or right.namespace:
        return f"{user} may not {right}"
    number = len(namespaces or ())
    return f"{user} may not {right} in all namespaces; what is in {number or 'none'} of them is seen"


ACTION_RIGHTS: Mapping[str, Right] = {
    "cordon": Right("patch", CLUSTERS),
    "uncordon": Right("patch", CLUSTERS),
    "drain": Right("patch", CLUSTERS),
    "undo": Right("patch", CLUSTERS),
    "brake-release": Right("patch", CONFIG_MAPS, SYSTEM_NAMESPACE, BRAKE_NAME),
    "rebalance": Right("create", WORKLOAD_REBALANCERS),
}
"""Right that each action needs."""
