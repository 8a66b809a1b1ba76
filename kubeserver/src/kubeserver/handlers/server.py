"""The API server: one method that answers any request.

as whom, and may they? ▸ health ▸ which path? ▸ discovery, OpenAPI, or the verbs of a kind ▸ answer, or a Status
"""

import logging

from kubeapi import codec
from kubeapi.transport import Request, Response
from kubeserver import errors
from kubeserver.admission import AdmissionReview
from kubeserver.auth.access import Access
from kubeserver.auth.authentication import Authenticator
from kubeserver.auth.authorization.attributes import is_watch
from kubeserver.controllers.bootstrap_signer import BootstrapSigner
from kubeserver.controllers.certificate_signer import ApprovalRule, CertificateSigner, approve_nothing
from kubeserver.controllers.token_secrets import TokenSecrets
from kubeserver.discovery import groups as discovery
from kubeserver.discovery.openapi import OpenApi
from kubeserver.handler import REJECTED, StreamResponse, User
from kubeserver.handlers.answering import Verbs
from kubeserver.handlers.connecting import Connect, ConnectRequest, Connects, key_of
from kubeserver.handlers.derived import DerivedObjects, Missing
from kubeserver.handlers.pods import Kubelet
from kubeserver.handlers.presenting import with_warnings
from kubeserver.health import Health
from kubeserver.kinds.kind import Kind
from kubeserver.kinds.scheme import Scheme
from kubeserver.limits import MAX_VALUES, check_body, check_timeout
from kubeserver.registry.deleting import Deleter
from kubeserver.registry.open_watches import OpenWatches
from kubeserver.registry.writing import Writer
from kubeserver.routing import GroupPath, Target, Unknown, route
from kubeserver.store import Overloaded, StoreFailed
from kubeserver.warnings import CollectedWarnings

log = logging.getLogger(__name__)


class ApiServer:
    """An API server over one store; `starting.py` puts it together."""

    def __init__(self, writer: Writer, scheme: Scheme, health: Health, access: Access, watches: OpenWatches) -> None:
        self.store = writer.store
        self.health = health
        self.scheme = scheme
        self._openapi = OpenApi(scheme)
        self._discovery = discovery.Discovery(scheme)
        self._access = access
        self._writer = writer
        self._verbs = Verbs(writer, Deleter(writer), access, watches)
        self._connects = Connects({})

    @property
    def authenticator(self) -> Authenticator:
        """Knows the users of this server: the static tokens, and those that it gave out itself."""
        return self._access.authenticator

    def certificate_signer(
        self, certificate: bytes, key: bytes, rule: ApprovalRule = approve_nothing
    ) -> CertificateSigner:
        """Run it where this server may sign with the client CA; `rule` decides about requests. Raises: ValueError."""
        requests, secrets = self.scheme.kind_of(*SIGNING_REQUEST), self.scheme.kind_of("", "secrets")
        return CertificateSigner(self._writer, requests, secrets, certificate, key, rule)

    def bootstrap_signer(self) -> BootstrapSigner:
        """Run it where who has a bootstrap token is to find out whom they speak with."""
        return BootstrapSigner(self._writer, self.scheme.kind_of("", "configmaps"))

    def token_secrets(self, authority: bytes = b"") -> TokenSecrets:
        """Run it where accounts may have Secrets with their tokens. `authority` (PEM) vouches for this server."""
        secrets, randomness = self.scheme.kind_of("", "secrets"), self._writer.randomness
        return TokenSecrets(self._writer, secrets, self._access.accounts, randomness, authority)

    def connect(self, group: str, plural: str, subresource: str, to: Connect) -> None:
        """Leads paths below this subresource to `to` from now on."""
        self._connects.known[key_of(group, plural, subresource)] = to

    def reach_kubelet(self, kubelet: Kubelet) -> None:
        """Lets `kubelet` answer from now on for the containers of Pods: logs, exec, attach, portforward, proxy."""
        self._verbs.reach_kubelet(kubelet)

    def derive(self, kind: Kind, objects: DerivedObjects, missing: Missing | None = None) -> None:
        """Serves a kind whose objects are made when they are asked for, and that is in a group of its own. `missing`
        refuses in its own words what is not there."""
        assert kind.derived
        self.scheme.install(f"{kind.plural}.{kind.group}", (kind,))
        self._verbs.derive(kind, objects, missing)

    async def handle(self, request: Request, user: User) -> Response | StreamResponse:
        """Answers one request; errors are answers, too."""
        with CollectedWarnings() as warnings:
            answer = await self._answer_or_refuse(request, user)
        return with_warnings(answer, warnings) if isinstance(answer, Response) else answer

    async def _answer_or_refuse(self, request: Request, user: User) -> Response | StreamResponse:
        try:
            return await self._answer(request, user)
        except errors.Refused as refusal:
            return errors.status_response(refusal.status, refusal.headers, request.headers.get("accept", ""))
        except Overloaded as error:
            return _refuse(errors.unavailable(str(error)))
        except StoreFailed as error:
            log.error("%s %s: %s", request.method, request.path, error)
            return _refuse(errors.unavailable(f"the store failed: {error}"))
        except Exception as error:
            log.exception("%s %s", request.method, request.path)
            return _refuse(errors.internal_error(f"{type(error).__name__}: {error}"))

    async def _answer(self, request: Request, user: User) -> Response | StreamResponse:
        if not is_watch(request):
            check_timeout(request.query)
        if user == REJECTED:
            raise errors.unauthorized()
        user = self._access.gate.admit(request, user)
        if (found := self._connects.find(request, user)) is not None:
            connect, asked = found
            await self._admit_connection(asked)
            return await connect(asked)
        content_type = request.headers.get("content-type", "")
        check_body(request.body, content_type, large=self._takes_large(request))
        answered = self.health.answer(request) or self._access.issuer.answer(request)
        if answered is None and request.path == "/":
            others = (*self.health.paths(), *self._access.issuer.paths)
            answered = _paths(discovery.root_paths(self.scheme, others))
        if answered is None and request.path.startswith("/openapi/"):
            answered = self._openapi.answer(request)
        if answered is not None:
            return answered
        return await self._answer_api(request, user)

    def _takes_large(self, request: Request) -> bool:
        """Tells of a body that may have many values whether its resource may have large objects. Definitions are the
        largest of what users write."""
        if len(request.body) <= MAX_VALUES:
            return False
        found = route(self.scheme, request.path)
        if not isinstance(found, Target):
            return False
        return found.kind.plural == "customresourcedefinitions" or self._writer.takes_large(found.kind)

    async def _admit_connection(self, asked: ConnectRequest) -> None:
        """Webhooks have a say in what leads out of the server, too. Raises: Refused."""
        kind = self.scheme.find(*asked.resource)
        if kind is None:
            raise errors.unknown_path()
        options = {"kind": f"{kind.kind}ProxyOptions", "apiVersion": kind.api_version, "path": asked.path}
        deed = AdmissionReview("CONNECT", kind, "", options, None, asked.user, False, asked.subresource, asked.name)
        await self._writer.admission.ask(deed)

    async def _answer_api(self, request: Request, user: User) -> Response | StreamResponse:
        match route(self.scheme, request.path):
            case Target() as target:
                return await self._verbs.answer(request, user, target)
            case GroupPath() as path:
                if request.method != "GET":
                    raise errors.method_not_allowed()
                return self._discovery.answer(path, request.headers.get("accept", ""))
            case Unknown(known_group=True):
                raise errors.unknown_path()
            case Unknown():
                return errors.page_not_found()


SIGNING_REQUEST = ("certificates.k8s.io", "certificatesigningrequests")


def _paths(paths: list[str]) -> Response:
    return Response(200, codec.encode({"paths": paths}), {"content-type": errors.JSON})


def _refuse(refusal: errors.Refused) -> Response:
    return errors.status_response(refusal.status, refusal.headers)
