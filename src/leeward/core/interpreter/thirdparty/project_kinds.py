"""The kinds of other projects, by apiVersion and kind."""

from collections.abc import Mapping

from leeward.core.interpreter.rules import Rules
from leeward.core.interpreter.thirdparty.argo import WORKFLOW
from leeward.core.interpreter.thirdparty.flink import FLINK_DEPLOYMENT
from leeward.core.interpreter.thirdparty.flux import (
    BUCKET,
    GIT_REPOSITORY,
    HELM_CHART,
    HELM_RELEASE,
    HELM_REPOSITORY,
    KUSTOMIZATION,
    OCI_REPOSITORY,
)
from leeward.core.interpreter.thirdparty.kruise import (
    ADVANCED_CRON_JOB,
    BROADCAST_JOB,
    CLONE_SET,
    KRUISE_DAEMON_SET,
    KRUISE_STATEFUL_SET,
    SIDECAR_SET,
    UNITED_DEPLOYMENT,
)
from leeward.core.interpreter.thirdparty.kubeflow import MPI_JOB, NOTEBOOK, PYTORCH_JOB, TF_JOB
from leeward.core.interpreter.thirdparty.kyverno import CLUSTER_POLICY, POLICY
from leeward.core.interpreter.thirdparty.ray import RAY_CLUSTER, RAY_JOB, RAY_SERVICE
from leeward.core.interpreter.thirdparty.spark import SPARK_APPLICATION
from leeward.core.interpreter.thirdparty.traffic_kinds import (
    DNS_ENDPOINT,
    GATEWAY,
    GATEWAY_CLASS,
    GSLB,
    KARMADAS_IMPORT,
    ROUTE,
    SERVICE_EXPORT,
    SERVICE_IMPORT,
)
from leeward.core.interpreter.thirdparty.volcano import VOLCANO_JOB

PROJECT_KINDS: Mapping[tuple[str, str], Rules] = {
    ("apps.kruise.io/v1alpha1", "AdvancedCronJob"): ADVANCED_CRON_JOB,
    ("apps.kruise.io/v1alpha1", "BroadcastJob"): BROADCAST_JOB,
    ("apps.kruise.io/v1alpha1", "CloneSet"): CLONE_SET,
    ("apps.kruise.io/v1alpha1", "DaemonSet"): KRUISE_DAEMON_SET,
    ("apps.kruise.io/v1alpha1", "SidecarSet"): SIDECAR_SET,
    ("apps.kruise.io/v1alpha1", "UnitedDeployment"): UNITED_DEPLOYMENT,
    ("apps.kruise.io/v1beta1", "StatefulSet"): KRUISE_STATEFUL_SET,
    ("argoproj.io/v1alpha1", "Workflow"): WORKFLOW,
    ("batch.volcano.sh/v1alpha1", "Job"): VOLCANO_JOB,
    ("externaldns.k8s.io/v1alpha1", "DNSEndpoint"): DNS_ENDPOINT,
    ("flink.apache.org/v1beta1", "FlinkDeployment"): FLINK_DEPLOYMENT,
    ("gateway.networking.k8s.io/v1", "GRPCRoute"): ROUTE,
    ("gateway.networking.k8s.io/v1", "Gateway"): GATEWAY,
    ("gateway.networking.k8s.io/v1", "GatewayClass"): GATEWAY_CLASS,
    ("gateway.networking.k8s.io/v1", "HTTPRoute"): ROUTE,
    ("gateway.networking.k8s.io/v1", "TLSRoute"): ROUTE,
    ("gateway.networking.k8s.io/v1alpha2", "GRPCRoute"): ROUTE,
    ("gateway.networking.k8s.io/v1alpha2", "TCPRoute"): ROUTE,
    ("gateway.networking.k8s.io/v1alpha2", "TLSRoute"): ROUTE,
    ("gateway.networking.k8s.io/v1alpha2", "UDPRoute"): ROUTE,
    ("gateway.networking.k8s.io/v1beta1", "Gateway"): GATEWAY,
    ("gateway.networking.k8s.io/v1beta1", "GatewayClass"): GATEWAY_CLASS,
    ("gateway.networking.k8s.io/v1beta1", "HTTPRoute"): ROUTE,
    ("helm.toolkit.fluxcd.io/v2beta1", "HelmRelease"): HELM_RELEASE,
    ("k8gb.absa.oss/v1beta1", "Gslb"): GSLB,
    ("k8gb.io/v1beta1", "Gslb"): GSLB,
    ("kubeflow.org/v1", "Notebook"): NOTEBOOK,
    ("kubeflow.org/v1", "PyTorchJob"): PYTORCH_JOB,
    ("kubeflow.org/v1", "TFJob"): TF_JOB,
    ("kubeflow.org/v2beta1", "MPIJob"): MPI_JOB,
    ("kustomize.toolkit.fluxcd.io/v1", "Kustomization"): KUSTOMIZATION,
    ("kyverno.io/v1", "ClusterPolicy"): CLUSTER_POLICY,
    ("kyverno.io/v1", "Policy"): POLICY,
    ("multicluster.x-k8s.io/v1alpha1", "ServiceExport"): SERVICE_EXPORT,
    ("multicluster.x-k8s.io/v1alpha1", "ServiceImport"): KARMADAS_IMPORT,
    ("multicluster.x-k8s.io/v1beta1", "ServiceExport"): SERVICE_EXPORT,
    ("multicluster.x-k8s.io/v1beta1", "ServiceImport"): SERVICE_IMPORT,
    ("ray.io/v1", "RayCluster"): RAY_CLUSTER,
    ("ray.io/v1", "RayJob"): RAY_JOB,
    ("ray.io/v1", "RayService"): RAY_SERVICE,
    ("source.toolkit.fluxcd.io/v1", "GitRepository"): GIT_REPOSITORY,
    ("source.toolkit.fluxcd.io/v1beta2", "Bucket"): BUCKET,
    ("source.toolkit.fluxcd.io/v1beta2", "HelmChart"): HELM_CHART,
    ("source.toolkit.fluxcd.io/v1beta2", "HelmRepository"): HELM_REPOSITORY,
    ("source.toolkit.fluxcd.io/v1beta2", "OCIRepository"): OCI_REPOSITORY,
    ("sparkoperator.k8s.io/v1beta2", "SparkApplication"): SPARK_APPLICATION,
}
