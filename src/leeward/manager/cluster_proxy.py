"""The subresource `proxy` of Clusters: whoever may use it speaks to a member's API server through the control plane.

    kubectl get --raw /apis/cluster.karmada.io/v1alpha1/clusters/member1/proxy/api/v1/nodes

The member is told on whose behalf: the request goes on with the token of `spec.impersonatorSecretRef`, which may do
nothing but impersonate, as the user who asked. So the member's own rules decide. What of a request and of its answer is
passed on is in `proxy_headers.py`; an answer that is a redirect is a 502. A member that obeys another hub, as its
Cluster says, is not asked.
All clusters together have the name `*`, see `all_clusters.py`.

Karmada: pkg/util/proxy, the same objects and headers; for a member that cannot be reached, a 503 that names it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from msgspec import structs

from kubeapi.core import SECRETS, Secret
from kubeapi.transport import Request, Response
from kubeclient import Client, NotFound, WorldError
from kubeclient.forwarding import Conversation, Forwarded
from kubeserver import errors
from kubeserver.handler import Handler, StreamResponse, WayBack
from kubeserver.handlers.connecting import ConnectRequest
from leeward.api.cluster import Cluster, LocalSecretReference
from leeward.api.meta import find_condition
from leeward.api.names import ALLOW_HTTP_ANNOTATION, CLUSTER_NAMESPACE, impersonator_of
from leeward.api.resource import CLUSTERS
from leeward.core.hub_generation import ANOTHER_HUB, HUB_FENCE_CONDITION
from leeward.manager.all_clusters import EVERY_CLUSTER, AllClusters
from leeward.manager.proxy_headers import PAGE_RULES, bad_gateway, code_fault, headers_to_client, headers_to_member


class Member(Protocol):
    async def forward(self, request: Request) -> Forwarded | Conversation:
        """Raises: WorldError."""
        ...

    async def close(self) -> None: ...


Reach = Callable[[Cluster, Secret | None, Secret], Member]
"""Makes the way to a member, of its Cluster, of the Secret with its CA, and of that with the impersonator's token.

Raises: ValueError that says what is missing.
"""


@dataclass(slots=True)
class _Reached:
    made_of: tuple[object, ...]
    member: Member


class ClusterProxy:
    """One way to each member that was asked for; made anew when its Cluster or a Secret of it changes.

    `own` is the control plane's API server, which answers for all clusters together what is no resource.
    """

    def __init__(self, client: Client, reach: Reach, own: Handler) -> None:
        self._client = client
        self._reach = reach
        self._reached: dict[str, _Reached] = {}
        self._all = AllClusters(client, self.forward, own)

    async def connect(self, asked: ConnectRequest) -> Response | StreamResponse:
        """Raises: Refused."""
        if asked.name != EVERY_CLUSTER:
            return await self._connect(asked)
        where = await self._all.answer_or_find(asked)
        return await self._connect(replace(asked, name=where)) if isinstance(where, str) else where

    async def forward(self, asked: ConnectRequest) -> Forwarded | Conversation:
        """Forwards a request, and returns the member's answer. Raises: Refused."""
        request = _on_behalf(asked)
        try:
            member = await self._member(asked.name)
            answer = await member.forward(request)
        except (WorldError, ValueError) as error:
            raise errors.unavailable(f"cluster {asked.name} cannot be reached: {error}") from error
        headers = headers_to_client(answer.headers)
        if isinstance(answer, Conversation):
            return replace(answer, headers=headers)
        if fault := code_fault(answer.code, request.headers):
            answer.drop()
            raise bad_gateway(f"cluster {asked.name} {fault}")
        return replace(answer, headers={**headers, **PAGE_RULES})

    async def _connect(self, asked: ConnectRequest) -> StreamResponse:
        return streamed(await self.forward(asked))

    async def close(self) -> None:
        for name in list(self._reached):
            await self._forget(name)

    async def _member(self, name: str) -> Member:
        """Raises: Refused, WorldError, ValueError."""
        try:
            cluster = await self._client.get(CLUSTERS, name)
        except NotFound:
            await self._forget(name)
            raise errors.not_found(CLUSTERS.group, CLUSTERS.plural, name) from None
        told = find_condition(cluster.status.conditions, HUB_FENCE_CONDITION)
        if told is not None and told.reason == ANOTHER_HUB:
            raise ValueError(told.message)
        authority = await self._secret(cluster.spec.secret_ref)
        impersonator = await self._secret(cluster.spec.impersonator_secret_ref)
        if impersonator is None:
            raise ValueError(_no_impersonator(cluster))
        made_of = (*_connection(cluster), _data(authority), _data(impersonator))
        before = self._reached.get(name)
        if before is not None and before.made_of == made_of:
            return before.member
        reached = self._reached[name] = _Reached(made_of, self._reach(cluster, authority, impersonator))
        if before is not None:
            await before.member.close()
        return reached.member

    async def _secret(self, reference: LocalSecretReference | None) -> Secret | None:
        if reference is None:
            return None
        try:
            return await self._client.get(SECRETS, reference.name, reference.namespace)
        except NotFound:
            return None

    async def _forget(self, name: str) -> None:
        reached = self._reached.pop(name, None)
        if reached is not None:
            await reached.member.close()


def streamed(forwarded: Forwarded | Conversation) -> StreamResponse:
    """Answer of another server, passed on as it comes."""
    if isinstance(forwarded, Conversation):
        way_back = WayBack(forwarded.send, "", forwarded.upgrade)
        return StreamResponse(forwarded.pieces, headers=forwarded.headers, way_back=way_back)
    content_type = forwarded.headers.get("content-type", "application/octet-stream")
    return StreamResponse(forwarded.chunks, content_type, forwarded.code, forwarded.headers, line_end=b"")


def _on_behalf(asked: ConnectRequest) -> Request:
    """Raises: Refused."""
    if any(part in (".", "..") for part in asked.path.split("/")):
        raise errors.bad_request("the path must not lead upwards: leave out its parts . and ..")
    return structs.replace(asked.request, path=asked.path, headers=headers_to_member(asked.request.headers, asked.user))


def _connection(cluster: Cluster) -> tuple[object, ...]:
    spec = cluster.spec
    allowed = cluster.metadata.annotations.get(ALLOW_HTTP_ANNOTATION)
    return cluster.metadata.uid, spec.api_endpoint, spec.insecure_skip_tls_verification, spec.proxy_url, allowed


def _data(secret: Secret | None) -> dict[str, bytes] | None:
    return None if secret is None else dict(secret.data)


def _no_impersonator(cluster: Cluster) -> str:
    reference = cluster.spec.impersonator_secret_ref
    if reference is None:
        example = f"{CLUSTER_NAMESPACE}/{impersonator_of(cluster.name)}"
        return f"spec.impersonatorSecretRef of the Cluster is not set: name a Secret ({example}, say) with data.token"
    return f"the Secret {reference.namespace}/{reference.name}, its spec.impersonatorSecretRef, does not exist"
