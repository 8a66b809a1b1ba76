"""The kinds that something is known about: Kubernetes' own, and those of other projects."""

from collections.abc import Mapping

from kubeapi.meta import ReadOnlyManifest
from leeward.core.interpreter.accounts import SECRET, SERVICE_ACCOUNT
from leeward.core.interpreter.autoscaling import HORIZONTAL_POD_AUTOSCALER, POD_DISRUPTION_BUDGET
from leeward.core.interpreter.jobs import CRON_JOB, JOB
from leeward.core.interpreter.network import INGRESS, SERVICE
from leeward.core.interpreter.pods import POD
from leeward.core.interpreter.rules import Rules
from leeward.core.interpreter.storage import PERSISTENT_VOLUME, PERSISTENT_VOLUME_CLAIM
from leeward.core.interpreter.thirdparty.project_kinds import PROJECT_KINDS
from leeward.core.interpreter.workloads import DAEMON_SET, DEPLOYMENT, REPLICA_SET, STATEFUL_SET

KINDS: Mapping[tuple[str, str], Rules] = {
    ("apps/v1", "Deployment"): DEPLOYMENT,
    ("apps/v1", "ReplicaSet"): REPLICA_SET,
    ("apps/v1", "StatefulSet"): STATEFUL_SET,
    ("apps/v1", "DaemonSet"): DAEMON_SET,
    ("batch/v1", "Job"): JOB,
    ("batch/v1", "CronJob"): CRON_JOB,
    ("v1", "Pod"): POD,
    ("v1", "Service"): SERVICE,
    ("networking.k8s.io/v1", "Ingress"): INGRESS,
    ("v1", "PersistentVolume"): PERSISTENT_VOLUME,
    ("v1", "PersistentVolumeClaim"): PERSISTENT_VOLUME_CLAIM,
    ("v1", "Secret"): SECRET,
    ("v1", "ServiceAccount"): SERVICE_ACCOUNT,
    ("policy/v1", "PodDisruptionBudget"): POD_DISRUPTION_BUDGET,
    ("autoscaling/v2", "HorizontalPodAutoscaler"): HORIZONTAL_POD_AUTOSCALER,
    **PROJECT_KINDS,
}

_UNKNOWN = Rules()


def rules_of(manifest: ReadOnlyManifest) -> Rules:
    return KINDS.get((manifest.get("apiVersion", ""), manifest.get("kind", "")), _UNKNOWN)
