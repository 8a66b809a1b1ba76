"""The table of built-in kinds."""

from kubeapi.diff import is_equal
from kubeapi.meta import ReadOnlyManifest
from kubeserver.apiextensions.definition_rules import default_definition, validate_definition
from kubeserver.kinds import (
    administrative,
    amount_rules,
    autoscaler_rules,
    basics,
    cluster_rules,
    configuration,
    disruption_rules,
    endpoint_rules,
    events,
    ingress_rules,
    job_rules,
    mutating_policies,
    network_rules,
    others,
    pod_templates,
    pod_warnings,
    pods,
    policy_parts,
    printing,
    selectable,
    service_rules,
    signing_rules,
    validating_policies,
    workload_rules,
    workloads,
)
from kubeserver.kinds import webhook_configurations as webhooks
from kubeserver.kinds.addresses import ADDRESSES
from kubeserver.kinds.api_services import API_SERVICES
from kubeserver.kinds.columns import CREATED_AT
from kubeserver.kinds.infrastructure import INFRASTRUCTURE
from kubeserver.kinds.kind import Kind, Scale, content_changed, families, spec_changed
from kubeserver.kinds.selectable import fields as _fields
from kubeserver.kinds.views import FirstAutoscaler, NewEvent
from kubeserver.names import dns_label, path_segment
from kubeserver.values import section


def workload_changed(old: ReadOnlyManifest, new: ReadOnlyManifest) -> bool:
    """A new generation of a Deployment: its annotations count, too."""
    annotations = section(old["metadata"], "annotations")
    return spec_changed(old, new) or not is_equal(annotations, section(new["metadata"], "annotations"))


_ALL = ("all",)
_EXT = ("api-extensions",)
_REPLICAS = Scale()
_OF_TEMPLATE = pod_warnings.template_warnings("spec.template")

CORE = (
    Kind("", "v1", "Namespace", "namespaces", False, ("ns",), columns=printing.NAMESPACES, status=True,
         subresources=("finalize",), default=basics.default_namespace, complete=basics.complete_namespace,
         validate=cluster_rules.validate_namespace, validate_status=cluster_rules.validate_namespace_status,
         name_rule=dns_label,
         fields=_fields("status.phase"), returns_deleted=True),
    Kind("", "v1", "Pod", "pods", True, ("po",), _ALL, columns=printing.PODS, status=True,
         conclusion=printing.pod_conclusion,
         subresources=("attach", "binding", "ephemeralcontainers", "eviction", "exec", "log", "portforward", "proxy",
                       "resize"),
         default=pods.default_pod, complete=pods.complete_pod, validate=pods.validate_pod, generation=spec_changed,
         returns_deleted=True,
         fields=selectable.POD,
         warnings=pod_warnings.pod_warnings),
    Kind("", "v1", "Binding", "bindings", ephemeral=True),
    Kind("", "v1", "Service", "services", True, ("svc",), _ALL, columns=printing.SERVICES, status=True,
         default=basics.default_service, complete=basics.complete_service,
         validate=service_rules.validate_service, name_rule=dns_label,
         validate_status=service_rules.validate_service_status,
         fields=_fields("spec.type", "spec.clusterIP"), returns_deleted=True, creates_on_update=True),
    Kind("", "v1", "ConfigMap", "configmaps", True, ("cm",), columns=printing.CONFIG_MAPS,
         default=configuration.default_config_map, validate=configuration.validate_config_map),
    Kind("", "v1", "Secret", "secrets", True, columns=printing.SECRETS,
         default=configuration.default_secret, validate=configuration.validate_secret, fields=_fields("type")),
    Kind("", "v1", "Node", "nodes", False, ("no",), columns=printing.NODES, status=True, creates_status=True,
         default=basics.default_node, validate=cluster_rules.validate_node, fields=selectable.NODE),
    Kind("", "v1", "Event", "events", True, ("ev",), columns=printing.EVENTS,
         validate=events.validate_event, name_rule=path_segment, fields=selectable.EVENT,
         creates_on_update=True),
    Kind("", "v1", "ServiceAccount", "serviceaccounts", True, ("sa",), columns=printing.SERVICE_ACCOUNTS,
         subresources=("token",), returns_deleted=True),
    Kind("", "v1", "PersistentVolume", "persistentvolumes", False, ("pv",), columns=printing.VOLUMES, status=True,
         default=basics.default_volume, validate=cluster_rules.validate_volume, returns_deleted=True),
    Kind("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", True, ("pvc",), columns=printing.CLAIMS,
         status=True, default=basics.default_claim, validate=amount_rules.validate_claim, returns_deleted=True),
    Kind("", "v1", "Endpoints", "endpoints", True, ("ep",), columns=printing.ENDPOINTS,
         deprecation="v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
         default=endpoint_rules.default_endpoints,
         validate=endpoint_rules.validate_endpoints, creates_on_update=True),
    Kind("", "v1", "ReplicationController", "replicationcontrollers", True, ("rc",), _ALL,
         columns=printing.REPLICA_SETS, status=True, scale=_REPLICAS,
         default=workloads.default_replication_controller, validate=workload_rules.validate_replication_controller,
         generation=spec_changed, fields=selectable.REPLICAS, orphans=True,
         warnings=_OF_TEMPLATE),
    Kind("", "v1", "ResourceQuota", "resourcequotas", True, ("quota",), columns=administrative.QUOTAS, status=True,
         default=others.default_with_status, validate=amount_rules.validate_quota, returns_deleted=True),
    Kind("", "v1", "LimitRange", "limitranges", True, ("limits",), columns=(CREATED_AT,),
         default=amount_rules.default_limits, validate=amount_rules.validate_limits, creates_on_update=True),
    Kind("", "v1", "ComponentStatus", "componentstatuses", False, ("cs",), columns=administrative.COMPONENTS,
         derived=True, deprecation="v1 ComponentStatus is deprecated in v1.19+"),
    Kind("", "v1", "PodTemplate", "podtemplates", True, columns=administrative.POD_TEMPLATES,
         default=basics.default_pod_template_object, validate=pod_templates.validate_pod_template,
         returns_deleted=True),
)  # fmt: skip

APPS = (
    Kind("apps", "v1", "Deployment", "deployments", True, ("deploy",), _ALL, columns=printing.DEPLOYMENTS, status=True,
         scale=_REPLICAS, default=workloads.default_deployment,
         validate=workload_rules.validate_deployment, validate_status=workload_rules.validate_deployment_status,
         generation=workload_changed,
         warnings=_OF_TEMPLATE),
    Kind("apps", "v1", "ReplicaSet", "replicasets", True, ("rs",), _ALL, columns=printing.REPLICA_SETS, status=True,
         scale=_REPLICAS, default=workloads.default_replica_set,
         validate=workload_rules.validate_replica_set, generation=spec_changed, fields=selectable.REPLICAS,
         warnings=_OF_TEMPLATE),
    Kind("apps", "v1", "StatefulSet", "statefulsets", True, ("sts",), _ALL, columns=printing.STATEFUL_SETS, status=True,
         scale=_REPLICAS, default=workloads.default_stateful_set,
         validate=workload_rules.validate_stateful_set, generation=spec_changed,
         warnings=_OF_TEMPLATE),
    Kind("apps", "v1", "DaemonSet", "daemonsets", True, ("ds",), _ALL, columns=printing.DAEMON_SETS, status=True,
         default=workloads.default_daemon_set, validate=workload_rules.validate_daemon_set,
         generation=spec_changed,
         warnings=_OF_TEMPLATE),
    Kind("apps", "v1", "ControllerRevision", "controllerrevisions", True, columns=administrative.REVISIONS,
         validate=workload_rules.validate_controller_revision),
)  # fmt: skip

BATCH = (
    Kind("batch", "v1", "Job", "jobs", True, (), _ALL, columns=printing.JOBS, status=True,
         default=workloads.default_job, validate=job_rules.validate_job, generation=spec_changed,
         fields=selectable.JOB, orphans=True, orphans_warning=job_rules.ORPHANS,
         warnings=_OF_TEMPLATE),
    Kind("batch", "v1", "CronJob", "cronjobs", True, ("cj",), _ALL, columns=printing.CRON_JOBS, status=True,
         default=workloads.default_cron_job, validate=job_rules.validate_cron_job,
         generation=spec_changed,
         warnings=pod_warnings.template_warnings("spec.jobTemplate.spec.template")),
)  # fmt: skip

NETWORKING = (
    Kind("networking.k8s.io", "v1", "Ingress", "ingresses", True, ("ing",), columns=printing.INGRESSES, status=True,
         default=others.default_ingress, validate=ingress_rules.validate_ingress, generation=spec_changed),
    Kind("networking.k8s.io", "v1", "IngressClass", "ingressclasses", False,
         columns=administrative.INGRESS_CLASSES, default=ingress_rules.default_ingress_class,
         validate=ingress_rules.validate_ingress_class, generation=spec_changed),
    Kind("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", True, ("netpol",), columns=printing.POLICIES,
         default=network_rules.default_network_policy, validate=network_rules.validate_network_policy,
         generation=spec_changed),
    Kind("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", True, columns=printing.ENDPOINT_SLICES,
         default=endpoint_rules.default_slice, validate=endpoint_rules.validate_slice, generation=content_changed),
)  # fmt: skip

RBAC = (
    Kind(others.RBAC_GROUP, "v1", "Role", "roles", True, columns=(CREATED_AT,),
         validate=others.validate_role, name_rule=path_segment, creates_on_update=True),
    Kind(others.RBAC_GROUP, "v1", "ClusterRole", "clusterroles", False, columns=(CREATED_AT,),
         validate=others.validate_role, name_rule=path_segment, creates_on_update=True),
    Kind(others.RBAC_GROUP, "v1", "RoleBinding", "rolebindings", True, columns=printing.BINDINGS,
         default=others.default_binding, validate=others.validate_binding,
         name_rule=path_segment, creates_on_update=True),
    Kind(others.RBAC_GROUP, "v1", "ClusterRoleBinding", "clusterrolebindings", False, columns=printing.BINDINGS,
         default=others.default_binding, validate=others.validate_binding,
         name_rule=path_segment, creates_on_update=True),
)  # fmt: skip

EXTENSIONS = (
    Kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", False,
         ("crd", "crds"), _EXT, columns=(CREATED_AT,), status=True,
         default=default_definition, validate=validate_definition, generation=spec_changed, unconditional_update=False,
         returns_deleted=True),
    Kind("admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", False,
         (), _EXT, columns=administrative.WEBHOOKS, default=webhooks.default_mutating,
         validate=webhooks.validate_configuration, generation=content_changed, unconditional_update=False),
    Kind("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations",
         False, (), _EXT, columns=administrative.WEBHOOKS, default=webhooks.default_validating,
         validate=webhooks.validate_configuration, generation=content_changed, unconditional_update=False),
    Kind("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy", "validatingadmissionpolicies", False, (),
         _EXT, columns=administrative.POLICIES, status=True, default=policy_parts.default_policy,
         validate=validating_policies.validate_policy, generation=spec_changed, unconditional_update=False),
    Kind("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings",
         False, (), _EXT, columns=administrative.POLICY_BINDINGS, default=policy_parts.default_binding,
         validate=validating_policies.validate_binding, generation=spec_changed, unconditional_update=False),
    Kind("admissionregistration.k8s.io", "v1", "MutatingAdmissionPolicy", "mutatingadmissionpolicies", False, (), _EXT,
         columns=administrative.MUTATING_POLICIES, default=policy_parts.default_policy,
         validate=mutating_policies.validate_policy, generation=spec_changed, unconditional_update=False),
    Kind("admissionregistration.k8s.io", "v1", "MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings",
         False, (), _EXT, columns=administrative.POLICY_BINDINGS, default=policy_parts.default_binding,
         validate=mutating_policies.validate_binding, generation=spec_changed, unconditional_update=False),
)  # fmt: skip

OTHERS = (
    Kind("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", True, ("hpa",), _ALL,
         columns=printing.AUTOSCALERS, status=True, default=autoscaler_rules.default_autoscaler,
         validate=autoscaler_rules.validate_autoscaler),
    Kind("autoscaling", "v1", "HorizontalPodAutoscaler", "horizontalpodautoscalers", True, ("hpa",), _ALL,
         storage_version="v2", view=FirstAutoscaler(), columns=printing.AUTOSCALERS, status=True,
         default=autoscaler_rules.default_first_autoscaler, validate=autoscaler_rules.validate_autoscaler),
    Kind("events.k8s.io", "v1", "Event", "events", True, ("ev",), storage_group="", view=NewEvent(),
         columns=printing.NEW_EVENTS, validate=events.validate_new_event, name_rule=path_segment,
         fields=selectable.NEW_EVENT, problems_group="", creates_on_update=True),
    Kind("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", True, ("pdb",), columns=printing.BUDGETS,
         status=True, default=others.default_disruption_budget,
         validate=disruption_rules.validate_disruption_budget, generation=spec_changed, unconditional_update=False),
    Kind("coordination.k8s.io", "v1", "Lease", "leases", True, columns=printing.LEASES,
         default=others.default_lease, validate=others.validate_lease, unconditional_update=False,
         creates_on_update=True),
    Kind("storage.k8s.io", "v1", "StorageClass", "storageclasses", False, ("sc",), columns=printing.STORAGE_CLASSES,
         default=others.default_storage_class, validate=cluster_rules.validate_storage_class, returns_deleted=True),
    Kind("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", False, ("pc",),
         columns=printing.PRIORITY_CLASSES, default=others.default_priority_class,
         validate=cluster_rules.validate_priority_class, generation=content_changed),
    Kind("certificates.k8s.io", "v1", "CertificateSigningRequest", "certificatesigningrequests", False, ("csr",),
         columns=administrative.SIGNING_REQUESTS, status=True, subresources=("approval",),
         default=others.default_with_status, validate=signing_rules.validate_signing_request,
         fields=_fields("spec.signerName")),
    Kind("authentication.k8s.io", "v1", "TokenReview", "tokenreviews", False, ephemeral=True),
    Kind("authentication.k8s.io", "v1", "SelfSubjectReview", "selfsubjectreviews", False, ephemeral=True),
    Kind("authorization.k8s.io", "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews", False, ephemeral=True),
    Kind("authorization.k8s.io", "v1", "SelfSubjectRulesReview", "selfsubjectrulesreviews", False, ephemeral=True),
    Kind("authorization.k8s.io", "v1", "SubjectAccessReview", "subjectaccessreviews", False, ephemeral=True),
    Kind("authorization.k8s.io", "v1", "LocalSubjectAccessReview", "localsubjectaccessreviews", ephemeral=True),
)  # fmt: skip

BUILT_IN = families(
    (*CORE, *APPS, *BATCH, *NETWORKING, *RBAC, *EXTENSIONS, *OTHERS, *INFRASTRUCTURE, *ADDRESSES, *API_SERVICES)
)

_SERVED = frozenset((kind.api_version, kind.kind) for kind in BUILT_IN)


def is_served(api_version: str, kind_name: str) -> bool:
    return (api_version, kind_name) in _SERVED
