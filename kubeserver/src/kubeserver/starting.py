"""Puts an API server together: what it begins with, who has a say in what is written, and who works unasked."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from prometheus_client import REGISTRY, CollectorRegistry

from kubeapi.loop import Clock, Randomness, Supervisor
from kubeapi.meta import Manifest
from kubeserver.admission import Admission, Policies
from kubeserver.admission.claim_growth import ClaimGrowth
from kubeserver.admission.default_classes import DefaultClasses
from kubeserver.admission.escalation import EscalationCheck
from kubeserver.admission.limit_ranges import LimitRanges
from kubeserver.admission.pod_classes import PodClasses
from kubeserver.admission.pod_security import PodSecurity
from kubeserver.admission.services import ServiceAddresses
from kubeserver.admission.signers import SignerCheck, SigningRequestAdmission
from kubeserver.apiextensions.conversion.webhook import Converters
from kubeserver.apiextensions.definitions import PREFIX as DEFINITIONS
from kubeserver.auth.access import Access
from kubeserver.auth.authorization import RulesOfUser, no_rules
from kubeserver.auth.tokens import SigningKey
from kubeserver.builtin_kinds import BUILT_IN
from kubeserver.controllers import bootstrap, expiring
from kubeserver.controllers.api_services import API_SERVICES, ApiServiceKeeper, LocalApiServices
from kubeserver.controllers.definitions import Definitions
from kubeserver.controllers.expiry import Expiry
from kubeserver.controllers.garbage import GarbageCollector
from kubeserver.controllers.ip_addresses import IpAddressKeeper
from kubeserver.controllers.namespaces import NamespaceController
from kubeserver.controllers.quotas import QuotaStatus
from kubeserver.controllers.role_aggregation import RoleAggregation
from kubeserver.dynamic_admission.policies.judging import AdmissionPolicies
from kubeserver.dynamic_admission.policies.mutating import MutatingPolicies
from kubeserver.dynamic_admission.policies.sight import Sight
from kubeserver.dynamic_admission.webhooks.dispatch import AdmissionWebhooks
from kubeserver.handler import User
from kubeserver.handlers.server import SIGNING_REQUEST, ApiServer
from kubeserver.health import Health
from kubeserver.kinds.scheme import Scheme
from kubeserver.registry.admitting import Admitter
from kubeserver.registry.deleting import Deleter
from kubeserver.registry.open_watches import OpenWatches
from kubeserver.registry.room import DEFAULT_BOUNDS, Room, StoreBounds
from kubeserver.registry.workload_hooks import DAEMON_SETS, JOBS, JobSelectors, TemplateGenerations
from kubeserver.registry.writing import Writer
from kubeserver.store import Store
from kubeserver.webhooks.calling import NoCalls, PassedOver, WebhookClient, nobody

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
    passed_over: PassedOver = nobody,
    rules_of_user: RulesOfUser = no_rules,
    event_ttl_seconds: float = expiring.EVENT_TTL_SECONDS,
    bounds: StoreBounds = DEFAULT_BOUNDS,
) -> ApiServer:
    """Bootstraps what must be there and starts the server's own controllers. Raises: Refused for broken `crds`.

    `admission`, `crds` and `objects` are what the server knows nothing of by itself: who else has a say in what is
    written, further kinds, and what has to be there before the first request (roles, bindings, namespaces).

    `collectors`: whether to empty namespaces that end, to collect dependents, to delete what has come to its end, and
    to aggregate roles; kube-apiserver alone does not.
    Webhooks are asked through `webhook_client`, but never about what the server must have to begin with; one whose
    Service leads nowhere is passed over where `passed_over` says so, else as its failurePolicy says.
    """
    scheme = Scheme(BUILT_IN)
    definition = scheme.kind_of(*_DEFINITION)
    client, watches, room = webhook_client or NoCalls(), OpenWatches(), Room(store, bounds)
    definitions = Definitions(store, scheme, definition, watches, Converters(client, store, randomness))
    services = ServiceAddresses(service_cidr, (r.value for r in store.list("//services/").records))
    hooks = {
        DEFINITIONS: definitions,
        "//services/": services,
        DAEMON_SETS: TemplateGenerations(),
        JOBS: JobSelectors(),
        API_SERVICES: LocalApiServices(clock),
    }
    access = Access(store, clock, randomness, tokens, signing_key, rules_of_user)
    limits = LimitRanges(store)
    rights, guards = (EscalationCheck(access.authorizer), SigningRequestAdmission()), (SignerCheck(access.authorizer),)
    inside = (*admission, *rights, PodClasses(store), limits, DefaultClasses(store))
    webhooks = AdmissionWebhooks(store, scheme, client, randomness, access.authorizer, passed_over)
    own = Writer(store, clock, randomness, Admitter(inside, guards), hooks)
    definitions.serve_stored()
    await bootstrap.create_objects(own, scheme, service_cidr, objects)
    await bootstrap.install_definitions(own, definition, definitions, crds)
    await _start_keepers(own, scheme, supervisor)
    judging = _judging(own.admission, webhooks, Sight(store, scheme, access.authorizer), store, limits)
    writer = replace(own, room=room, admission=judging)
    expiry = _start_expiry(writer, scheme, supervisor, event_ttl_seconds)
    supervisor.start(definitions.run(writer, Deleter(writer)), "definitions")
    if collectors:
        _start_collectors(writer, scheme, supervisor, expiry)
    return ApiServer(writer, scheme, Health(store, metrics, nearly_full=room.nearly_full), access, watches)


def _judging(admitter: Admitter, webhooks: AdmissionWebhooks, sight: Sight, store: Store, limits: Policies) -> Admitter:
    """Admission that asks everybody: policies and webhooks, too."""
    judges = (limits, PodSecurity(store), ClaimGrowth(store), AdmissionPolicies(store, sight))
    return replace(admitter, mutations=MutatingPolicies(store, sight), webhooks=webhooks, judges=judges)


def _start_expiry(writer: Writer, scheme: Scheme, supervisor: Supervisor, event_ttl_seconds: float) -> Expiry:
    """Starts what ends objects at their time: events everywhere, others where they are collected; and what counts
    them for quotas."""
    if writer.room is not None and writer.room.bounds.counts_quotas:
        supervisor.start(QuotaStatus(writer.store, scheme, writer).run(), "quotas")
    expiry = Expiry(writer.store, writer.clock)
    supervisor.start(expiry.expire(), "expiry")
    supervisor.start(expiry.follow(expiring.events(writer, scheme.kind_of("", "events"), event_ttl_seconds)), "events")
    return expiry


async def _start_keepers(writer: Writer, scheme: Scheme, supervisor: Supervisor) -> None:
    """Starts those who write down what is the case anyway: nobody outside is asked. Raises: Refused, StoreFailed."""
    deleter = Deleter(writer)
    api_services = ApiServiceKeeper(writer, deleter, scheme, scheme.kind_of(*_API_SERVICE))
    await api_services.settle()
    addresses = IpAddressKeeper(writer, deleter, scheme.kind_of("networking.k8s.io", "ipaddresses"))
    supervisor.start(api_services.follow_definitions(), "api-services")
    supervisor.start(api_services.follow_deletions(), "deleted-api-services")
    supervisor.start(addresses.run(), "ip-addresses")


def _start_collectors(writer: Writer, scheme: Scheme, supervisor: Supervisor, expiry: Expiry) -> None:
    deleter = Deleter(writer)
    roles = RoleAggregation(writer, scheme.kind_of("rbac.authorization.k8s.io", "clusterroles"))
    namespaces = NamespaceController(writer.store, scheme, scheme.kind_of("", "namespaces"))
    ending = (
        expiring.jobs(deleter, scheme.kind_of("batch", "jobs")),
        expiring.bootstrap_tokens(deleter, scheme.kind_of("", "secrets")),
        expiring.signing_requests(deleter, scheme.kind_of(*SIGNING_REQUEST)),
    )
    for objects in ending:
        supervisor.start(expiry.follow(objects), f"ends of {objects.prefix}")
    supervisor.start(roles.run(), "role-aggregation")
    supervisor.start(namespaces.run(writer, deleter), "namespaces")
    supervisor.start(GarbageCollector(writer.store, scheme, writer, deleter).run(), "garbage-collector")
