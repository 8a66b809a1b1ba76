"""Puts an API server together: what it begins with, who has a say in what is written, and who works unasked."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from prometheus_client import REGISTRY, CollectorRegistry

from kubeapi.loop.clock import Clock
from kubeapi.loop.randomness import Randomness
from kubeapi.loop.supervisor import Supervisor
from kubeapi.meta import Manifest
from kubeserver.access.access import Access
from kubeserver.access.authorization.aggregation import RoleAggregation
from kubeserver.access.tokens import SigningKey
from kubeserver.admission import Admission
from kubeserver.admission.claim_growth import ClaimGrowth
from kubeserver.admission.default_classes import DefaultClasses
from kubeserver.admission.job_selectors import JOBS, JobSelectors
from kubeserver.admission.limit_ranges import LimitRanges
from kubeserver.admission.pod_classes import PodClasses
from kubeserver.admission.pod_security import PodSecurity
from kubeserver.admission.services import ServiceAddresses
from kubeserver.admission.template_generations import DAEMON_SETS, TemplateGenerations
from kubeserver.catalog import Catalog
from kubeserver.conversion.webhook import Converters
from kubeserver.custom.controller import Definitions
from kubeserver.custom.definitions import PREFIX as DEFINITIONS
from kubeserver.handler import User
from kubeserver.health import Health
from kubeserver.housekeeping import bootstrap, expiring
from kubeserver.housekeeping.api_services import API_SERVICES, ApiServiceKeeper, LocalApiServices
from kubeserver.housekeeping.expiry import Expiry
from kubeserver.housekeeping.garbage import GarbageCollector
from kubeserver.housekeeping.ip_addresses import IpAddressKeeper
from kubeserver.housekeeping.namespaces import NamespaceController
from kubeserver.kinds.builtin import BUILT_IN
from kubeserver.policies.judging import AdmissionPolicies
from kubeserver.policies.mutating import MutatingPolicies
from kubeserver.policies.sight import Sight
from kubeserver.registry.admitting import Admitter
from kubeserver.registry.deleting import Deleter
from kubeserver.registry.open_watches import OpenWatches
from kubeserver.registry.writing import Writer
from kubeserver.server import SIGNING_REQUEST, ApiServer
from kubeserver.store import Store
from kubeserver.webhooks.calling import NoCalls, WebhookClient
from kubeserver.webhooks.dispatch import AdmissionWebhooks

SERVICE_CIDR = "10.96.0.0/16"
_DEFINITION = ("apiextensions.k8s.io", "customresourcedefinitions")
_API_SERVICE = ("apiregistration.k8s.io", "apiservices")


async def start_apiserver(
    store: Store,
    clock: Clock,
    randomness: Randomness,
    supervisor: Supervisor,
    admission: Sequence[Admission] = (),
    crds: Sequence[Manifest] = (),
    objects: Sequence[Manifest] = (),
    service_cidr: str = SERVICE_CIDR,
    metrics: CollectorRegistry = REGISTRY,
    tokens: Mapping[str, User] | None = None,
    signing_key: SigningKey | None = None,
    collectors: bool = True,
    webhook_client: WebhookClient | None = None,
    event_ttl_seconds: float = expiring.EVENT_TTL_SECONDS,
) -> ApiServer:
    """Bootstraps what must be there and starts the server's own controllers. Raises: Refused for broken `crds`.

    `admission`, `crds` and `objects` are what the server knows nothing of by itself: who else has a say in what is
    written, further kinds, and what has to be there before the first request (roles, bindings, namespaces).

    `collectors`: whether to empty namespaces that end, to collect dependents, to delete what has come to its end, and
    to aggregate roles; kube-apiserver alone does not.
    Webhooks are asked through `webhook_client`, but never about what the server must have to begin with.
    """
    catalog = Catalog(BUILT_IN)
    definition = catalog.kind_of(*_DEFINITION)
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
    await bootstrap.create_objects(own, catalog, service_cidr, objects)
    await bootstrap.install_definitions(own, definition, definitions, crds)
    await _start_keepers(own, catalog, supervisor)
    sight = Sight(store, catalog, access.authorizer)
    mutations = MutatingPolicies(store, sight)
    judges = (limits, PodSecurity(store), ClaimGrowth(store), AdmissionPolicies(store, sight))
    writer = replace(own, admission=Admitter(inside, access.guards, mutations, webhooks, judges))
    expiry = Expiry(store, clock)
    supervisor.start(expiry.expire(), "expiry")
    supervisor.start(expiry.follow(expiring.events(writer, catalog.kind_of("", "events"), event_ttl_seconds)), "events")
    supervisor.start(definitions.run(writer, Deleter(writer)), "definitions")
    if collectors:
        _start_collectors(writer, catalog, supervisor, expiry)
    return ApiServer(writer, catalog, Health(store, metrics), access, watches)


async def _start_keepers(writer: Writer, catalog: Catalog, supervisor: Supervisor) -> None:
    """Starts those who write down what is the case anyway: nobody outside is asked. Raises: Refused, StoreFailed."""
    deleter = Deleter(writer)
    api_services = ApiServiceKeeper(writer, deleter, catalog, catalog.kind_of(*_API_SERVICE))
    await api_services.settle()
    addresses = IpAddressKeeper(writer, deleter, catalog.kind_of("networking.k8s.io", "ipaddresses"))
    supervisor.start(api_services.follow_definitions(), "api-services")
    supervisor.start(api_services.follow_deletions(), "deleted-api-services")
    supervisor.start(addresses.run(), "ip-addresses")


def _start_collectors(writer: Writer, catalog: Catalog, supervisor: Supervisor, expiry: Expiry) -> None:
    deleter = Deleter(writer)
    roles = RoleAggregation(writer, catalog.kind_of("rbac.authorization.k8s.io", "clusterroles"))
    namespaces = NamespaceController(writer.store, catalog, catalog.kind_of("", "namespaces"))
    ending = (
        expiring.jobs(deleter, catalog.kind_of("batch", "jobs")),
        expiring.bootstrap_tokens(deleter, catalog.kind_of("", "secrets")),
        expiring.signing_requests(deleter, catalog.kind_of(*SIGNING_REQUEST)),
    )
    for objects in ending:
        supervisor.start(expiry.follow(objects), f"ends of {objects.prefix}")
    supervisor.start(roles.run(), "role-aggregation")
    supervisor.start(namespaces.run(writer, deleter), "namespaces")
    supervisor.start(GarbageCollector(writer.store, catalog, writer, deleter).run(), "garbage-collector")
