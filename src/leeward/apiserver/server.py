"""The API server: everything put together, and one method that answers any request.

as whom, and may they? ▸ health ▸ which path? ▸ discovery, OpenAPI, or the verbs of a kind ▸ answer, or a Status
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace

from prometheus_client import REGISTRY, CollectorRegistry

from leeward.api import codec
from leeward.api.meta import Manifest
from leeward.apiserver import refusals
from leeward.apiserver.access.access import Access
from leeward.apiserver.access.authentication import Authenticator
from leeward.apiserver.access.authorization.aggregation import RoleAggregation
from leeward.apiserver.access.tokens import SigningKey
from leeward.apiserver.access.tokens.certificates import CertificateSigner
from leeward.apiserver.access.tokens.secrets import TokenSecrets
from leeward.apiserver.admission import Admission, AdmissionReview
from leeward.apiserver.admission.default_classes import DefaultClasses
from leeward.apiserver.admission.job_selectors import JOBS, JobSelectors
from leeward.apiserver.admission.limit_ranges import LimitRanges
from leeward.apiserver.admission.pod_classes import PodClasses
from leeward.apiserver.admission.services import ServiceAddresses
from leeward.apiserver.admission.template_generations import DAEMON_SETS, TemplateGenerations
from leeward.apiserver.catalog import Catalog
from leeward.apiserver.conversion.webhook import Converters
from leeward.apiserver.custom.controller import Definitions
from leeward.apiserver.custom.definitions import PREFIX as DEFINITIONS
from leeward.apiserver.discovery import groups as discovery
from leeward.apiserver.discovery.openapi import OpenApi
from leeward.apiserver.forms.presenting import with_warnings
from leeward.apiserver.handler import StreamResponse, User
from leeward.apiserver.health import Health
from leeward.apiserver.housekeeping import bootstrap
from leeward.apiserver.housekeeping.api_services import API_SERVICES, ApiServiceKeeper, LocalApiServices
from leeward.apiserver.housekeeping.expiry import EVENT_TTL_SECONDS, EventExpiry
from leeward.apiserver.housekeeping.garbage import GarbageCollector
from leeward.apiserver.housekeeping.ip_addresses import IpAddressKeeper
from leeward.apiserver.housekeeping.namespaces import NamespaceController
from leeward.apiserver.kinds.builtin import BUILT_IN
from leeward.apiserver.kinds.kind import Kind
from leeward.apiserver.limits import check_body
from leeward.apiserver.policies.judging import AdmissionPolicies
from leeward.apiserver.policies.mutating import MutatingPolicies
from leeward.apiserver.policies.sight import Sight
from leeward.apiserver.registry.admitting import Admitter
from leeward.apiserver.registry.deleting import Deleter
from leeward.apiserver.registry.open_watches import OpenWatches
from leeward.apiserver.registry.writing import Writer
from leeward.apiserver.remarks import CollectedWarnings
from leeward.apiserver.routing import GroupPath, Target, Unknown, route
from leeward.apiserver.store import Overloaded, Store, StoreFailed
from leeward.apiserver.verbs.answering import Verbs
from leeward.apiserver.verbs.connecting import Connect, ConnectRequest, Connects, key_of
from leeward.apiserver.webhooks.calling import NoCalls, WebhookClient
from leeward.apiserver.webhooks.dispatch import AdmissionWebhooks
from leeward.client.transport import Request, Response
from leeward.loop.clock import Clock
from leeward.loop.randomness import Randomness
from leeward.loop.supervisor import Supervisor

log = logging.getLogger(__name__)

SERVICE_CIDR = "10.96.0.0/16"


class ApiServer:
    """An API server over one store. Use `ApiServer.start`."""

    def __init__(self, writer: Writer, catalog: Catalog, health: Health, access: Access, watches: OpenWatches) -> None:
        self.health = health
        self._catalog = catalog
        self._openapi = OpenApi(catalog)
        self._discovery = discovery.Discovery(catalog)
        self._access = access
        self._writer = writer
        self._verbs = Verbs(writer, Deleter(writer), writer.clock, access, watches)
        self._connects = Connects({})

    @classmethod
    async def start(
        cls,
        store: Store,
        clock: Clock,
        randomness: Randomness,
        supervisor: Supervisor,
        admission: Sequence[Admission] = (),
        crds: Sequence[Manifest] = (),
        service_cidr: str = SERVICE_CIDR,
        metrics: CollectorRegistry = REGISTRY,
        tokens: Mapping[str, User] | None = None,
        signing_key: SigningKey | None = None,
        collectors: bool = True,
        webhook_client: WebhookClient | None = None,
        event_ttl_seconds: float = EVENT_TTL_SECONDS,
    ) -> "ApiServer":
        """Bootstraps what must be there and starts the server's own controllers. Raises: Refused for broken `crds`.

        `collectors`: whether to empty namespaces that end, to collect dependents and to aggregate roles;
        kube-apiserver alone does not.
        Webhooks are asked through `webhook_client`, but never about what the server must have to begin with.
        """
        catalog = Catalog(BUILT_IN)
        namespaces, definition = _kind(catalog, "", "namespaces"), _kind(catalog, *_DEFINITION)
        client, watches = webhook_client or NoCalls(), OpenWatches()
        definitions = Definitions(store, catalog, definition, watches, Converters(client, store, randomness))
        services = ServiceAddresses(service_cidr, (r.value for r in store.list("//services/").records))
        hooks = {
            DEFINITIONS: definitions,
            "//services/": services,
            DAEMON_SETS: TemplateGenerations(),
            JOBS: JobSelectors(),
            API_SERVICES: LocalApiServices(clock),
        }
        access = Access(store, clock, randomness, tokens, signing_key)
        limits = LimitRanges(store)
        inside = (*admission, *access.admission, PodClasses(store), limits, DefaultClasses(store))
        webhooks = AdmissionWebhooks(store, catalog, client, randomness, access.authorizer)
        own = Writer(store, clock, randomness, Admitter(inside, access.guards), hooks)
        definitions.serve_stored()
        await bootstrap.create_objects(own, catalog, service_cidr)
        await bootstrap.install_definitions(own, definition, definitions, crds)
        await _start_keepers(own, catalog, supervisor)
        sight = Sight(store, catalog, access.authorizer)
        mutations, judges = MutatingPolicies(store, sight), (limits, AdmissionPolicies(store, sight))
        writer = replace(own, admission=Admitter(inside, access.guards, mutations, webhooks, judges))
        server = cls(writer, catalog, Health(store, metrics), access, watches)
        deleter = Deleter(writer)
        expiry = EventExpiry(writer, _kind(catalog, "", "events"), event_ttl_seconds)
        supervisor.start(expiry.follow(), "events")
        supervisor.start(expiry.expire(), "event-expiry")
        supervisor.start(definitions.run(writer, deleter), "definitions")
        if collectors:
            roles = RoleAggregation(writer, _kind(catalog, "rbac.authorization.k8s.io", "clusterroles"))
            supervisor.start(roles.run(), "role-aggregation")
            supervisor.start(NamespaceController(store, catalog, namespaces).run(writer, deleter), "namespaces")
            supervisor.start(GarbageCollector(store, catalog, writer, deleter).run(), "garbage-collector")
        return server

    @property
    def authenticator(self) -> Authenticator:
        """Knows the users of this server: the static tokens, and those that it gave out itself."""
        return self._access.authenticator

    def certificate_signer(self, certificate: bytes, key: bytes) -> CertificateSigner:
        """Run it where this server may sign with the client CA. Raises: ValueError."""
        return CertificateSigner(self._writer, _kind(self._catalog, *_SIGNING_REQUEST), certificate, key)

    def token_secrets(self, authority: bytes = b"") -> TokenSecrets:
        """Run it where accounts may have Secrets with their tokens. `authority` (PEM) vouches for this server."""
        secrets, randomness = _kind(self._catalog, "", "secrets"), self._writer.randomness
        return TokenSecrets(self._writer, secrets, self._access.accounts, randomness, authority)

    def connect(self, group: str, plural: str, subresource: str, to: Connect) -> None:
        """From now on, paths below this subresource lead to `to`."""
        self._connects.known[key_of(group, plural, subresource)] = to

    async def handle(self, request: Request, user: User) -> Response | StreamResponse:
        """Answers one request; errors are answers, too."""
        with CollectedWarnings() as warnings:
            answer = await self._answer_or_refuse(request, user)
        return with_warnings(answer, warnings) if isinstance(answer, Response) else answer

    async def _answer_or_refuse(self, request: Request, user: User) -> Response | StreamResponse:
        try:
            return await self._answer(request, user)
        except refusals.Refused as refusal:
            return refusals.status_response(refusal.status, refusal.headers, request.headers.get("accept", ""))
        except Overloaded as error:
            return _refuse(refusals.unavailable(str(error)))
        except StoreFailed as error:
            log.error("%s %s: %s", request.method, request.path, error)
            return _refuse(refusals.unavailable(f"the store failed: {error}"))
        except Exception as error:
            log.exception("%s %s", request.method, request.path)
            return _refuse(refusals.internal_error(f"{type(error).__name__}: {error}"))

    async def _answer(self, request: Request, user: User) -> Response | StreamResponse:
        user = self._access.gate.admit(request, user)
        if (found := self._connects.find(request, user)) is not None:
            connect, asked = found
            await self._admit_connection(asked)
            return await connect(asked)
        check_body(request.body)
        answered = self.health.answer(request)
        if answered is None and request.path == "/":
            answered = _paths(discovery.root_paths(self._catalog, self.health.paths()))
        if answered is None and request.path.startswith("/openapi/"):
            answered = self._openapi.answer(request)
        if answered is not None:
            return answered
        return await self._answer_api(request, user)

    async def _admit_connection(self, asked: ConnectRequest) -> None:
        """Webhooks have a say in what leads out of the server, too. Raises: Refused."""
        kind = self._catalog.find(*asked.resource)
        if kind is not None:
            options = {"kind": f"{kind.kind}ProxyOptions", "apiVersion": kind.api_version, "path": asked.path}
            deed = AdmissionReview("CONNECT", kind, "", options, None, asked.user, False, asked.subresource, asked.name)
            await self._writer.admission.ask(deed)

    async def _answer_api(self, request: Request, user: User) -> Response | StreamResponse:
        match route(self._catalog, request.path):
            case Target() as target:
                return await self._verbs.answer(request, user, target)
            case GroupPath() as path:
                if request.method != "GET":
                    raise refusals.method_not_allowed()
                return self._discovery.answer(path, request.headers.get("accept", ""))
            case Unknown(known_group=True):
                raise refusals.unknown_path()
            case Unknown():
                return refusals.page_not_found()


_DEFINITION = ("apiextensions.k8s.io", "customresourcedefinitions")
_API_SERVICE = ("apiregistration.k8s.io", "apiservices")
_SIGNING_REQUEST = ("certificates.k8s.io", "certificatesigningrequests")


async def _start_keepers(writer: Writer, catalog: Catalog, supervisor: Supervisor) -> None:
    """Starts those who write down what is the case anyway: nobody outside is asked. Raises: Refused, StoreFailed."""
    deleter = Deleter(writer)
    api_services = ApiServiceKeeper(writer, deleter, catalog, _kind(catalog, *_API_SERVICE))
    await api_services.settle()
    addresses = IpAddressKeeper(writer, deleter, _kind(catalog, "networking.k8s.io", "ipaddresses"))
    supervisor.start(api_services.follow_definitions(), "api-services")
    supervisor.start(api_services.follow_deletions(), "deleted-api-services")
    supervisor.start(addresses.run(), "ip-addresses")


def _kind(catalog: Catalog, group: str, plural: str) -> Kind:
    return next(kind for kind in catalog.kinds_of_group(group) if kind.plural == plural)


def _paths(paths: list[str]) -> Response:
    return Response(200, codec.encode({"paths": paths}), {"content-type": refusals.JSON})


def _refuse(refusal: refusals.Refused) -> Response:
    return refusals.status_response(refusal.status, refusal.headers)
