"""The types of the fields that defaults, rules and columns of built-in kinds rely on.

An object that msgspec cannot read as its shape is refused, so that no later code meets a string where it expects a
list. Fields that are not named here are free.
"""

from typing import Any

import msgspec

IntOrString = int | str
Quantities = dict[str, str | int | float]


class Shape(msgspec.Struct, rename="camel", gc=False):
    """Base of all shapes."""


class Anything(Shape):
    """An object of which nothing is known."""

    spec: dict[str, Any] = {}
    status: dict[str, Any] = {}


class Requirement(Shape):
    key: str = ""
    operator: str = ""
    values: list[str] = []


class Selector(Shape):
    match_labels: dict[str, str] = {}
    match_expressions: list[Requirement] = []


class Port(Shape):
    container_port: int = 0
    host_port: int = 0
    name: str = ""
    protocol: str = ""


class EnvVar(Shape):
    name: str = ""
    value: str = ""
    value_from: dict[str, Any] = {}


class HttpGet(Shape):
    path: str = ""
    port: IntOrString = 0
    scheme: str = ""


class Probe(Shape):
    http_get: HttpGet | None = None
    grpc: dict[str, Any] = {}
    timeout_seconds: int = 0
    period_seconds: int = 0
    success_threshold: int = 0
    failure_threshold: int = 0
    initial_delay_seconds: int = 0


class Resources(Shape):
    limits: Quantities = {}
    requests: Quantities = {}


class VolumeMount(Shape):
    name: str = ""
    mount_path: str = ""


class Container(Shape):
    name: str = ""
    image: str = ""
    image_pull_policy: str = ""
    command: list[str] = []
    args: list[str] = []
    ports: list[Port] = []
    env: list[EnvVar] = []
    resources: Resources = msgspec.field(default_factory=Resources)
    volume_mounts: list[VolumeMount] = []
    liveness_probe: Probe | None = None
    readiness_probe: Probe | None = None
    startup_probe: Probe | None = None
    restart_policy: str = ""


class Toleration(Shape):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int = 0


class PodSpec(Shape):
    containers: list[Container] = []
    init_containers: list[Container] = []
    volumes: list[dict[str, Any]] = []
    restart_policy: str = ""
    dns_policy: str = ""
    node_name: str = ""
    node_selector: dict[str, str] = {}
    service_account_name: str = ""
    termination_grace_period_seconds: int = 0
    tolerations: list[Toleration] = []
    security_context: dict[str, Any] = {}
    host_network: bool = False
    priority: int = 0


class TemplateMeta(Shape):
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class PodTemplate(Shape):
    metadata: TemplateMeta = msgspec.field(default_factory=TemplateMeta)
    spec: PodSpec = msgspec.field(default_factory=PodSpec)


class ContainerStatus(Shape):
    name: str = ""
    ready: bool = False
    restart_count: int = 0
    state: dict[str, dict[str, Any]] = {}


class Condition(Shape):
    type: str = ""
    status: str = ""


class PodStatus(Shape):
    phase: str = ""
    reason: str = ""
    container_statuses: list[ContainerStatus] = []
    init_container_statuses: list[ContainerStatus] = []
    conditions: list[Condition] = []


class Pod(Shape):
    spec: PodSpec = msgspec.field(default_factory=PodSpec)
    status: PodStatus = msgspec.field(default_factory=PodStatus)


class PodTemplateObject(Shape):
    template: PodTemplate = msgspec.field(default_factory=PodTemplate)


class Strategy(Shape):
    type: str = ""
    rolling_update: dict[str, IntOrString] = {}


class WorkloadSpec(Shape):
    replicas: int = 0
    selector: Selector | None = None
    template: PodTemplate = msgspec.field(default_factory=PodTemplate)
    strategy: Strategy = msgspec.field(default_factory=Strategy)
    update_strategy: Strategy = msgspec.field(default_factory=Strategy)
    min_ready_seconds: int = 0
    revision_history_limit: int = 0
    progress_deadline_seconds: int = 0
    service_name: str = ""
    pod_management_policy: str = ""
    volume_claim_templates: list[dict[str, Any]] = []


class WorkloadStatus(Shape):
    replicas: int = 0
    ready_replicas: int = 0
    updated_replicas: int = 0
    available_replicas: int = 0
    observed_generation: int = 0
    conditions: list[Condition] = []


class Workload(Shape):
    spec: WorkloadSpec = msgspec.field(default_factory=WorkloadSpec)
    status: WorkloadStatus = msgspec.field(default_factory=WorkloadStatus)


class ReplicationControllerSpec(Shape):
    replicas: int = 0
    selector: dict[str, str] = {}
    template: PodTemplate = msgspec.field(default_factory=PodTemplate)


class ReplicationController(Shape):
    spec: ReplicationControllerSpec = msgspec.field(default_factory=ReplicationControllerSpec)
    status: WorkloadStatus = msgspec.field(default_factory=WorkloadStatus)


class JobSpec(Shape):
    parallelism: int = 0
    completions: int = 0
    backoff_limit: int = 0
    active_deadline_seconds: int = 0
    ttl_seconds_after_finished: int = 0
    completion_mode: str = ""
    suspend: bool = False
    manual_selector: bool = False
    selector: Selector | None = None
    template: PodTemplate = msgspec.field(default_factory=PodTemplate)


class JobStatus(Shape):
    succeeded: int = 0
    active: int = 0
    failed: int = 0
    start_time: str = ""
    completion_time: str = ""
    conditions: list[Condition] = []


class Job(Shape):
    spec: JobSpec = msgspec.field(default_factory=JobSpec)
    status: JobStatus = msgspec.field(default_factory=JobStatus)


class JobTemplate(Shape):
    metadata: TemplateMeta = msgspec.field(default_factory=TemplateMeta)
    spec: JobSpec = msgspec.field(default_factory=JobSpec)


class CronJobSpec(Shape):
    schedule: str = ""
    concurrency_policy: str = ""
    suspend: bool = False
    job_template: JobTemplate = msgspec.field(default_factory=JobTemplate)


class CronJobStatus(Shape):
    active: list[dict[str, Any]] = []
    last_schedule_time: str = ""


class CronJob(Shape):
    spec: CronJobSpec = msgspec.field(default_factory=CronJobSpec)
    status: CronJobStatus = msgspec.field(default_factory=CronJobStatus)


class ServicePort(Shape):
    name: str = ""
    port: int = 0
    protocol: str = ""
    target_port: IntOrString = 0
    node_port: int = 0


class ServiceSpec(Shape):
    type: str = ""
    ports: list[ServicePort] = []
    selector: dict[str, str] = {}
    cluster_ip: str = msgspec.field(default="", name="clusterIP")
    cluster_ips: list[str] = msgspec.field(default_factory=list[str], name="clusterIPs")
    external_ips: list[str] = msgspec.field(default_factory=list[str], name="externalIPs")
    external_name: str = ""
    session_affinity: str = ""


class Service(Shape):
    spec: ServiceSpec = msgspec.field(default_factory=ServiceSpec)
    status: dict[str, Any] = {}


class ConfigMap(Shape):
    data: dict[str, str] = {}
    binary_data: dict[str, bytes] = {}
    immutable: bool = False


class Secret(Shape):
    data: dict[str, bytes] = {}
    string_data: dict[str, str] = {}
    type: str = ""
    immutable: bool = False


class NamespaceSpec(Shape):
    finalizers: list[str] = []


class Namespace(Shape):
    spec: NamespaceSpec = msgspec.field(default_factory=NamespaceSpec)
    status: dict[str, Any] = {}


class LeaseSpec(Shape):
    holder_identity: str = ""
    lease_duration_seconds: int = 1
    lease_transitions: int = 0
    acquire_time: str = ""
    renew_time: str = ""


class Lease(Shape):
    spec: LeaseSpec = msgspec.field(default_factory=LeaseSpec)


class Rule(Shape):
    verbs: list[str] = []
    api_groups: list[str] = []
    resources: list[str] = []
    resource_names: list[str] = []
    non_resource_urls: list[str] = msgspec.field(default_factory=list[str], name="nonResourceURLs")


class Role(Shape):
    rules: list[Rule] = []


class RoleRef(Shape):
    api_group: str = ""
    kind: str = ""
    name: str = ""


class Subject(Shape):
    kind: str = ""
    name: str = ""
    namespace: str = ""
    api_group: str = ""


class RoleBinding(Shape):
    role_ref: RoleRef = msgspec.field(default_factory=RoleRef)
    subjects: list[Subject] = []


class Event(Shape):
    reason: str = ""
    message: str = ""
    note: str = ""
    type: str = ""
    count: int = 0
    involved_object: dict[str, Any] = {}
    regarding: dict[str, Any] = {}


class DefinitionNames(Shape):
    plural: str = ""
    singular: str = ""
    kind: str = ""
    list_kind: str = ""
    short_names: list[str] = []
    categories: list[str] = []


class PrinterColumn(Shape):
    name: str = ""
    type: str = ""
    json_path: str = ""
    priority: int = 0


class DefinitionSchema(Shape):
    open_api_v3_schema: dict[str, Any] = msgspec.field(default_factory=dict[str, Any], name="openAPIV3Schema")


class DefinitionVersion(Shape):
    name: str
    served: bool
    storage: bool
    schema: DefinitionSchema = msgspec.field(default_factory=DefinitionSchema)
    additional_printer_columns: list[PrinterColumn] = []
    subresources: dict[str, dict[str, Any]] = {}


class DefinitionSpec(Shape):
    group: str
    names: DefinitionNames
    scope: str
    versions: list[DefinitionVersion]
    conversion: dict[str, Any] = {}


class Definition(Shape):
    spec: DefinitionSpec
