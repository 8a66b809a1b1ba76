"""Front of a control plane on a real kube-apiserver: its whole API, and `clusters/NAME/proxy`, which that cannot serve.

    client ──▶ front ──▶ clusters/NAME/proxy: the member, as who asks (`manager/cluster_proxy.py`)
                     └─▶ everything else: the kube-apiserver, as who asks

Who asks is known by a certificate of the control plane's client CA, or by a token that the control plane reviews. Both
ways go on in their name, with the front's own credential, which may impersonate. Who may use the proxy of a cluster is
asked of the control plane (SubjectAccessReview of `clusters/proxy`); all else it decides itself.

Nothing but who comes here depends on it. An APIService would take the whole of `cluster.karmada.io/v1alpha1` from the
definition of the Clusters, and with it all objects that controllers and agents read and write.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from msgspec import structs

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeapi.status import Status
from kubeapi.transport import Request, Response
from kubeapi.untrusted import mapping_in, text_in, texts_in
from kubeclient import Client, WorldError
from kubeclient.forwarding import Conversation, Forwarded
from kubeserver import errors
from kubeserver.auth.authentication import Authenticator, bearer_token
from kubeserver.auth.authorization.attributes import attributes_of
from kubeserver.errors import Refused, status_response
from kubeserver.handler import ANONYMOUS, REJECTED, StreamResponse, User
from kubeserver.handlers.connecting import PROXY, ConnectRequest, Connects, key_of
from leeward.api.resource import CLUSTERS
from leeward.manager.cluster_proxy import ClusterProxy, Reach, streamed
from leeward.manager.proxy_headers import bad_gateway, code_fault, headers_to_client, headers_to_member

ASK_SECONDS = 10.0
"""Seconds for which the control plane may think about who asks, or whether they may."""
HEALTH = ("/healthz", "/livez", "/readyz")
_REVIEWS = "authentication.k8s.io/v1", "authorization.k8s.io/v1"
TOKENS: Resource[Manifest] = Resource.of_manifests(_REVIEWS[0], "tokenreviews", "TokenReview", False)
ACCESS: Resource[Manifest] = Resource.of_manifests(_REVIEWS[1], "subjectaccessreviews", "SubjectAccessReview", False)
Forward = Callable[[Request], Awaitable[Forwarded | Conversation]]
"""Asks the kube-apiserver with the front's own credential. Raises: WorldError."""


BEARER = User("a bearer token")
"""User of a request with a token, until that was reviewed. A certificate names nobody so: it adds a group."""


class Certificates(Authenticator):
    """Knows users by certificate alone; tokens are reviewed by the control plane (`HubFront`)."""

    def known_user(self, token: str) -> User | None:
        return BEARER


class HubFront:
    """Handler of all paths. `reach` makes the ways to members."""

    def __init__(self, client: Client, forward: Forward, reach: Reach) -> None:
        self._client = client
        self._forward = forward
        self._proxy = ClusterProxy(client, reach, _Own(self))
        self._connects = Connects({key_of(CLUSTERS.group, CLUSTERS.plural, PROXY): self._proxy.connect})

    async def handle(self, request: Request, user: User) -> Response | StreamResponse:
        if request.path in HEALTH and user == ANONYMOUS:
            return Response(200, b"ok", {"content-type": "text/plain"})
        try:
            who = await self._who(request, user)
            found = self._connects.find(request, who)
            if found is None:
                return await self.pass_on(request, who)
            connect, asked = found
            await self._authorize(asked)
            return await connect(asked)
        except Refused as refused:
            return status_response(refused.status)

    async def pass_on(self, request: Request, user: User) -> StreamResponse:
        """The kube-apiserver's own answer. Raises: Refused."""
        try:
            answer = await self._forward(structs.replace(request, headers=headers_to_member(request.headers, user)))
        except WorldError as error:
            raise errors.unavailable(f"the control plane cannot be reached: {error}") from error
        if not isinstance(answer, Conversation) and (fault := code_fault(answer.code, request.headers)):
            answer.drop()
            raise bad_gateway(f"the control plane {fault}")
        return streamed(replace(answer, headers=headers_to_client(answer.headers)))

    async def close(self) -> None:
        await self._proxy.close()

    async def _who(self, request: Request, user: User) -> User:
        """Raises: Refused."""
        if any(name.startswith("impersonate-") for name in request.headers):
            said = "nobody is impersonated here (--as): ask the API server itself"
            raise Refused(Status(message=said, reason="Forbidden", code=403))
        if user == BEARER:
            user = await self._reviewed(bearer_token(request.headers.get("authorization", "")))
        if user in (ANONYMOUS, REJECTED) or not user.name:
            raise Refused(Status(message="Unauthorized", reason="Unauthorized", code=401))
        return user

    async def _reviewed(self, token: str) -> User:
        """User whose token it is; ANONYMOUS for nobody's. Raises: Refused."""
        status = await self._ask(TOKENS, {"token": token})
        if status.get("authenticated") is not True:
            return ANONYMOUS
        known = mapping_in(status, "user")
        return User(text_in(known, "username"), tuple(texts_in(known, "groups")), text_in(known, "uid"))

    async def _authorize(self, asked: ConnectRequest) -> None:
        """Raises: Refused for who may not use the proxy of this cluster."""
        what = attributes_of(asked.request)
        attributes = {"group": what.group, "resource": what.resource, "subresource": what.subresource}
        attributes |= {"verb": what.verb, "name": what.name, "version": CLUSTERS.version}
        groups = list(asked.user.groups)
        spec = {"user": asked.user.name, "groups": groups, "uid": asked.user.uid, "resourceAttributes": attributes}
        status = await self._ask(ACCESS, spec)
        if status.get("allowed") is not True or status.get("denied") is True:
            raise Refused(Status(message=_refusal(asked, what.verb), reason="Forbidden", code=403))

    async def _ask(self, resource: Resource[Manifest], spec: Manifest) -> Manifest:
        """Status of a review. Raises: Refused while the control plane does not answer."""
        try:
            async with asyncio.timeout(ASK_SECONDS):
                return dict(mapping_in(await self._client.create(resource, {"spec": spec}), "status"))
        except (WorldError, TimeoutError) as error:
            said = f"the control plane does not say who may be let through: {error or 'no answer'}"
            raise errors.unavailable(said) from error


class _Own:
    """The kube-apiserver as the handler that answers for all clusters together."""

    def __init__(self, front: HubFront) -> None:
        self._front = front

    async def handle(self, request: Request, user: User) -> Response | StreamResponse:
        return await self._front.pass_on(request, user)


def _refusal(asked: ConnectRequest, verb: str) -> str:
    return (
        f'clusters.cluster.karmada.io "{asked.name}" is forbidden: User "{asked.user.name}" cannot {verb} resource '
        '"clusters/proxy" in API group "cluster.karmada.io" at the cluster scope'
    )
