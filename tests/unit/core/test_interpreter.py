"""Meanings of kinds, where Karmada's recorded cases are silent: exact values, and inputs that none of them has."""

from typing import Any

import pytest

from kubeapi.meta import Manifest
from leeward.api.work import AggregatedStatusItem, Health
from leeward.core.interpreter import (
    aggregate_status,
    health_of,
    prune,
    reflect_status,
    replicas_of,
    retain,
    revise_replicas,
)

DEPLOYMENT, REPLICA_SET, DAEMON_SET = ("apps/v1", "Deployment"), ("apps/v1", "ReplicaSet"), ("apps/v1", "DaemonSet")
STATEFUL_SET = ("apps/v1", "StatefulSet")
JOB, CRON_JOB, POD = ("batch/v1", "Job"), ("batch/v1", "CronJob"), ("v1", "Pod")
SERVICE, INGRESS = ("v1", "Service"), ("networking.k8s.io/v1", "Ingress")
VOLUME, CLAIM = ("v1", "PersistentVolume"), ("v1", "PersistentVolumeClaim")
BUDGET, AUTOSCALER = ("policy/v1", "PodDisruptionBudget"), ("autoscaling/v2", "HorizontalPodAutoscaler")
SECRET, SERVICE_ACCOUNT, CONFIG_MAP = ("v1", "Secret"), ("v1", "ServiceAccount"), ("v1", "ConfigMap")

RETAIN_REPLICAS = {"labels": {"resourcetemplate.karmada.io/retain-replicas": "true"}}
GENERATION = "resourcetemplate.karmada.io/generation"
TOKEN = "kubernetes.io/service-account-token"
LOAD_BALANCER = {"type": "LoadBalancer"}


def manifest(kind: tuple[str, str], metadata: dict[str, Any] | None = None, **fields: Any) -> Manifest:
    return {"apiVersion": kind[0], "kind": kind[1], "metadata": {"name": "web", **(metadata or {})}, **fields}


def items(*statuses: Any) -> list[AggregatedStatusItem]:
    """One item for each of member1, member2, ..."""
    return [AggregatedStatusItem(f"member{number}", status) for number, status in enumerate(statuses, 1)]


def ended(kind: str, at: str = "") -> dict[str, Any]:
    """The status of a Job that has ended so."""
    return {"conditions": [{"type": kind, "status": "True", **({"lastTransitionTime": at} if at else {})}]}


def succeeded() -> dict[str, Any]:
    """The status of a Job that is complete, as clusters since Kubernetes 1.31 tell it."""
    return {"conditions": [{"type": kind, "status": "True"} for kind in ("SuccessCriteriaMet", "Complete")]}


def finished(kind: str, reason: str, message: str, since: str = "") -> dict[str, Any]:
    """The condition of a Job that has ended in its clusters."""
    dated = {"lastProbeTime": since, "lastTransitionTime": since} if since else {}
    return {"type": kind, "status": "True", "reason": reason, "message": message, **dated}


CRITERIA_MET = finished("SuccessCriteriaMet", "CompletionsReached", "All member clusters have met success criteria")


def addresses(*entries: dict[str, str]) -> dict[str, Any]:
    return {"loadBalancer": {"ingress": list(entries)}}


def ready(status: str) -> dict[str, Any]:
    return {
        "phase": "Running",
        "conditions": [{"type": "Scheduled", "status": "True"}, {"type": "Ready", "status": status}],
    }


def rolled_out(updated: int, available: int, observed: int = 3) -> dict[str, int]:
    """The status of a DaemonSet that wants four pods."""
    return {
        "observedGeneration": observed,
        "desiredNumberScheduled": 4,
        "updatedNumberScheduled": updated,
        "numberAvailable": available,
    }


def test_a_kind_that_nothing_is_known_of_is_copied_as_it_is() -> None:
    thing = manifest(CONFIG_MAP, data={"a": "b"}, status={"x": 0})
    assert replicas_of(thing) == (0, None)
    assert revise_replicas(thing, 3) == thing
    assert reflect_status(thing) == {"x": 0}
    assert aggregate_status(thing, items({"x": 1})) is None
    assert retain(thing, manifest(CONFIG_MAP, data={"a": "other"})) == thing
    assert prune(thing) == manifest(CONFIG_MAP, data={"a": "b"})


@pytest.mark.parametrize(
    ("observed", "health"),
    [
        pytest.param(manifest(CONFIG_MAP), "Healthy", id="nothing is known"),
        pytest.param(manifest(POD, status=ready("True")), "Healthy", id="a pod is ready"),
        pytest.param(manifest(POD, status=ready("False")), "Unhealthy", id="a pod runs, and is not ready"),
        pytest.param(manifest(POD, status={"phase": "Succeeded"}), "Healthy", id="a pod is done"),
        pytest.param(
            manifest(SERVICE, spec=LOAD_BALANCER, status=addresses({"ip": "10.0.0.1"})), "Healthy", id="an ip"
        ),
        pytest.param(manifest(INGRESS, status=addresses({"hostname": "a.example"})), "Healthy", id="a host name"),
        pytest.param(
            manifest(SERVICE, spec=LOAD_BALANCER, status=addresses({"ipMode": "VIP"})), "Unhealthy", id="no address"
        ),
        pytest.param(manifest(INGRESS, status=addresses({"ip": ""})), "Unhealthy", id="an empty address"),
        pytest.param(
            manifest(REPLICA_SET, spec={"replicas": 2}, status={"availableReplicas": 2}),
            "Healthy",
            id="as many as asked",
        ),
        pytest.param(
            manifest(REPLICA_SET, spec={"replicas": 2}, status={"availableReplicas": 1}), "Unhealthy", id="one too few"
        ),
        pytest.param(manifest(DAEMON_SET, {"generation": 3}, status=rolled_out(4, 4)), "Healthy", id="on all nodes"),
        pytest.param(manifest(DAEMON_SET, {"generation": 3}, status=rolled_out(4, 3)), "Unhealthy", id="one is down"),
        pytest.param(manifest(DAEMON_SET, {"generation": 3}, status=rolled_out(3, 4)), "Unhealthy", id="one is old"),
        pytest.param(
            manifest(DAEMON_SET, {"generation": 3}, status=rolled_out(4, 4, observed=2)), "Unhealthy", id="not seen yet"
        ),
    ],
)
def test_health(observed: Manifest, health: Health) -> None:
    assert health_of(observed) == health


@pytest.mark.parametrize(
    ("template", "reported", "status"),
    [
        pytest.param(
            manifest(BUDGET),
            [{"currentHealthy": 2}],
            {"disruptionsAllowed": 0, "currentHealthy": 2, "desiredHealthy": 0, "expectedPods": 0},
            id="the counts of a budget are required",
        ),
        pytest.param(
            manifest(AUTOSCALER),
            [{"currentReplicas": 2}],
            {"currentReplicas": 2, "desiredReplicas": 0},
            id="an autoscaler's wanted replicas are required",
        ),
        pytest.param(
            manifest(AUTOSCALER), [{"desiredReplicas": 2}], {"desiredReplicas": 2}, id="its present ones are not"
        ),
        pytest.param(
            manifest(REPLICA_SET),
            [{"readyReplicas": 1}],
            {"replicas": 0, "readyReplicas": 1},
            id="the replicas of a ReplicaSet are required, and no generation is none",
        ),
        pytest.param(
            manifest(DEPLOYMENT, {"generation": 2}, status={"observedGeneration": 1, "custom": "stays"}),
            [{"readyReplicas": 1, "resourceTemplateGeneration": 2, "generation": 5, "observedGeneration": 5}, None],
            {"custom": "stays", "readyReplicas": 1, "observedGeneration": 1},
            id="a template is not observed before all have reported",
        ),
        pytest.param(
            manifest(JOB),
            [ended("Failed", "2026-11-22T10:00:00Z"), ended("Complete"), ended("Failed", "2026-11-22T09:00:00Z")],
            {
                "conditions": [
                    finished(
                        "Failed",
                        "JobFailed",
                        "Job executed failed in member clusters member1,member3",
                        "2026-11-22T10:00:00Z",
                    )
                ]
            },
            id="a Job fails with one cluster, dated as the last",
        ),
        pytest.param(
            manifest(JOB),
            [ended("Complete"), ended("Complete")],
            {"conditions": [finished("Complete", "Completed", "Job completed")]},
            id="a Job is complete with all, and no date is none",
        ),
        pytest.param(
            manifest(JOB, status={"active": 1, "conditions": [{"type": "Suspended", "status": "True"}]}),
            [{"active": 2}],
            {"active": 2},
            id="a Job that goes on loses the conditions that it had",
        ),
        pytest.param(
            manifest(JOB),
            [{"startTime": "2026-11-22T10:00:00Z", "completionTime": "2026-11-22T11:00:00Z", "active": 1}, None],
            {"active": 1},
            id="a Job has not begun before all have said since when",
        ),
        pytest.param(
            manifest(JOB),
            [succeeded(), succeeded()],
            {"conditions": [finished("Complete", "Completed", "Job completed"), CRITERIA_MET]},
            id="a Job that is complete says why where all say it",
        ),
        pytest.param(
            manifest(JOB),
            [succeeded(), ended("Complete")],
            {"conditions": [finished("Complete", "Completed", "Job completed")]},
            id="a Job that is complete says not why where one does not",
        ),
        pytest.param(
            manifest(JOB),
            [{"conditions": [{"type": "FailureTarget", "status": "True"}, {"type": "Failed", "status": "True"}]}, {}],
            {
                "conditions": [
                    finished(kind, "JobFailed", "Job executed failed in member clusters member1")
                    for kind in ("FailureTarget", "Failed")
                ]
            },
            id="a Job that fails says why first",
        ),
        pytest.param(
            manifest(CRON_JOB),
            [{"lastScheduleTime": "2026-11-22T10:00:00Z"}, {"lastScheduleTime": "2026-11-22T09:00:00Z"}],
            {"lastScheduleTime": "2026-11-22T10:00:00Z"},
            id="a CronJob was last run in the last cluster, and has not succeeded",
        ),
        pytest.param(manifest(POD), [{"phase": "Running"}, None], {"phase": "Pending"}, id="a pod without report"),
        pytest.param(manifest(POD), [{"phase": "Failed"}, None], {"phase": "Failed"}, id="a failed pod is worse"),
        pytest.param(
            manifest(INGRESS),
            [addresses({"hostname": "b.example"}), addresses({"hostname": "a.example"}, {"hostname": "b.example"})],
            addresses({"hostname": "a.example"}, {"hostname": "b.example"}),
            id="host names each once, in order",
        ),
        pytest.param(
            manifest(SERVICE, spec=LOAD_BALANCER, status=addresses({"ip": "10.0.0.1"})),
            [{"conditions": "none"}],
            {"loadBalancer": {}},
            id="a Service loses its last address",
        ),
        pytest.param(manifest(VOLUME, status={"phase": "Bound"}), [], {}, id="a volume without cluster"),
        pytest.param(manifest(VOLUME), [{"phase": "Bound"}, None], {"phase": "Pending"}, id="a volume without report"),
        pytest.param(
            manifest(CLAIM, status={"phase": "Bound"}),
            [{"phase": "Bound"}, {"capacity": {"storage": "1Gi"}}],
            {},
            id="a claim's no phase",
        ),
    ],
)
def test_the_status_of_all_copies_together(template: Manifest, reported: list[Any], status: dict[str, Any]) -> None:
    assert aggregate_status(template, items(*reported)) == {**template, "status": status}


@pytest.mark.parametrize(
    ("health", "of_template", "observed"),
    [("Healthy", 2, 2), ("Healthy", 1, 1), ("Unhealthy", 2, 1), ("Unknown", 2, 1)],
)
def test_a_set_has_observed_a_template_when_all_copies_of_it_are_healthy(
    health: Health, of_template: int, observed: int
) -> None:
    template = manifest(STATEFUL_SET, {"generation": 2}, status={"observedGeneration": 1})
    reported = {"generation": 3, "resourceTemplateGeneration": of_template, "replicas": 1}
    well = AggregatedStatusItem("member1", {**reported, "resourceTemplateGeneration": 2}, health="Healthy")
    told = aggregate_status(template, [well, AggregatedStatusItem("member2", reported, health=health)])
    assert told is not None
    assert told["status"] == {"replicas": 2, "observedGeneration": observed}


@pytest.mark.parametrize(
    ("template", "reported"),
    [
        pytest.param(manifest(REPLICA_SET), [], id="no replicas, and no status"),
        pytest.param(manifest(REPLICA_SET, status={"replicas": 0}), [], id="no replicas, and a status of none"),
        pytest.param(manifest(VOLUME, status={"phase": ""}), [], id="no phase, and an empty one"),
        pytest.param(manifest(SERVICE, spec={"type": "ClusterIP"}), [addresses({"ip": "10.0.0.1"})], id="no balancer"),
        pytest.param(manifest(JOB, status=ended("Complete")), [ended("Failed")], id="a Job that has ended"),
    ],
)
def test_a_status_that_says_the_same_is_left(template: Manifest, reported: list[Any]) -> None:
    assert aggregate_status(template, items(*reported)) is None


def test_one_replica_is_not_none() -> None:
    template = manifest(REPLICA_SET, status={"replicas": 1})
    assert aggregate_status(template, []) == {**template, "status": {"replicas": 0}}


@pytest.mark.parametrize(
    ("annotation", "generations"),
    [
        pytest.param({GENERATION: "7"}, {"generation": 2, "resourceTemplateGeneration": 7}, id="a number"),
        pytest.param({GENERATION: "seven"}, {"generation": 2}, id="a word"),
        pytest.param({GENERATION: "-7"}, {"generation": 2}, id="below zero"),
        pytest.param({GENERATION: ""}, {"generation": 2}, id="empty"),
        pytest.param({}, {"generation": 2}, id="missing"),
    ],
)
def test_a_generation_that_cannot_be_read_is_left_out(annotation: dict[str, str], generations: dict[str, int]) -> None:
    observed = manifest(DEPLOYMENT, {"generation": 2, "annotations": annotation}, status={"readyReplicas": 1})
    assert reflect_status(observed) == {**generations, "readyReplicas": 1}


@pytest.mark.parametrize(
    ("desired", "observed", "retained"),
    [
        pytest.param(
            manifest(SECRET, type=TOKEN),
            manifest(SECRET, type=TOKEN, data={"token": "of the member"}),
            manifest(SECRET, type=TOKEN, data={"token": "of the member"}),
            id="a token is the member's own",
        ),
        pytest.param(
            manifest(SECRET, type="Opaque", data={"password": "new"}),
            manifest(SECRET, type="Opaque", data={"password": "old"}),
            manifest(SECRET, type="Opaque", data={"password": "new"}),
            id="any other secret is what is desired",
        ),
        pytest.param(
            manifest(DEPLOYMENT, RETAIN_REPLICAS, spec={"replicas": 2}),
            manifest(DEPLOYMENT, spec={"replicas": 5}),
            manifest(DEPLOYMENT, RETAIN_REPLICAS, spec={"replicas": 5}),
            id="replicas that the member decides about",
        ),
        pytest.param(
            manifest(DEPLOYMENT, spec={"replicas": 2}),
            manifest(DEPLOYMENT, RETAIN_REPLICAS, spec={"replicas": 5}),
            manifest(DEPLOYMENT, spec={"replicas": 2}),
            id="replicas that it does not decide about",
        ),
        pytest.param(
            manifest(SERVICE, spec={}),
            manifest(SERVICE, spec={"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "healthCheckNodePort": 30001}),
            manifest(SERVICE, spec={"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "healthCheckNodePort": 30001}),
            id="addresses that the member has allocated",
        ),
        pytest.param(
            manifest(POD, spec={"containers": [{"name": "new"}, {"name": "app"}]}),
            manifest(POD, spec={"containers": [{"name": "app", "volumeMounts": [{"name": "token"}]}]}),
            manifest(POD, spec={"containers": [{"name": "new"}, {"name": "app", "volumeMounts": [{"name": "token"}]}]}),
            id="mounts, also behind a container that is new",
        ),
    ],
)
def test_what_the_member_owns_stays_as_it_is_there(desired: Manifest, observed: Manifest, retained: Manifest) -> None:
    assert retain(desired, observed) == retained


@pytest.mark.parametrize(
    ("template", "pruned"),
    [
        pytest.param(
            manifest(SERVICE, spec={"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ports": [{"port": 80}]}),
            manifest(SERVICE, spec={"ports": [{"port": 80}]}),
            id="the addresses of the control plane",
        ),
        pytest.param(
            manifest(SERVICE, spec={"clusterIP": "None", "clusterIPs": ["None"]}),
            manifest(SERVICE, spec={"clusterIP": "None", "clusterIPs": ["None"]}),
            id="a headless Service stays one",
        ),
        pytest.param(manifest(SERVICE_ACCOUNT), manifest(SERVICE_ACCOUNT), id="no secrets stay none"),
        pytest.param(
            manifest(
                SERVICE_ACCOUNT, secrets=[{"name": "web-token-abcde"}, {"name": "web-token-fghij"}, {"name": "web"}]
            ),
            manifest(SERVICE_ACCOUNT, secrets=[{"name": "web"}]),
            id="all token secrets",
        ),
    ],
)
def test_what_belongs_to_the_control_plane_is_not_propagated(template: Manifest, pruned: Manifest) -> None:
    assert prune(template) == pruned
