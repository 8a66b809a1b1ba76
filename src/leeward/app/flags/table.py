"""Every flag: its name, who has it, its default as text, how its text is read, and the setting that it becomes.

The names are Karmada's; those that Karmada has not are marked as ours. `left_out.py` lists the flags of Karmada that
are missing here, with the reason.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from leeward.api.purge_mode import DEFAULT_PURGE_MODE, TAINT_PURGE_MODES
from leeward.app.flags import parsing

Component = Literal["controller-manager", "scheduler", "serve", "agent", "up", "descheduler", "scheduler-estimator"]
COMPONENTS: tuple[Component, ...] = get_args(Component)

_AGENT = frozenset[Component]({"agent"})
_MANAGER = frozenset[Component]({"controller-manager", "serve", "up"})
_SCHEDULING = frozenset[Component]({"scheduler", "serve", "up"})
_PLACING = _MANAGER | _SCHEDULING
_PROBING = _MANAGER | _AGENT
_SCHEDULER = frozenset[Component]({"scheduler"})
_DESCHEDULER = frozenset[Component]({"descheduler"})
_LEADING = frozenset[Component]({"controller-manager", "scheduler", "serve"}) | _DESCHEDULER | _AGENT
_ESTIMATOR = frozenset[Component]({"scheduler-estimator"})
_KARMADAS = (_LEADING | _ESTIMATOR) - {"serve"}
_ESTIMATING = frozenset[Component]({"scheduler", "serve"})
_ASKING = _ESTIMATING | _DESCHEDULER
_SERVING = _LEADING | _ESTIMATOR
_BEATING = frozenset[Component]({"agent", "up"})
_SHARDED = frozenset[Component]({"controller-manager", "serve"})
_REACHING = _MANAGER | _AGENT
_ADMITTING = _EMBEDDING = frozenset[Component]({"up"})


class FlagProblem(ValueError):
    """Problem of a flag, told for people; it names the flag."""


@dataclass(frozen=True, slots=True)
class Flag:
    """`path` leads to the setting in `ComponentSettings`, and is empty for a flag without effect.

    `default` is empty where there is none to be told; `defaults` are those of single components, so that two of them on
    one machine do not want the same port. `ours`: Karmada has no such flag.
    """

    name: str
    components: frozenset[Component]
    default: str
    parse: Callable[[str], Any]
    path: str
    help: str
    ours: bool = False
    defaults: Mapping[Component, str] = field(default_factory=dict[Component, str])

    def default_of(self, component: Component) -> str:
        return self.defaults.get(component, self.default)

    @property
    def is_list(self) -> bool:
        """Tells whether it may be written several times, and stands for all that was written then."""
        return self.parse in (
            parsing.parse_controllers,
            parsing.parse_feature_gates,
            parsing.parse_networks,
            parsing.parse_patterns,
        )

    @property
    def is_switch(self) -> bool:
        """Tells whether it may stand without a value, which is `true`."""
        return self.parse is parsing.parse_boolean

    def read(self, text: str) -> Any:
        """Raises: FlagProblem."""
        try:
            return self.parse(text)
        except ValueError as error:
            raise FlagProblem(f"--{self.name}: {error}") from error


_TIMING = "manager.timing."
_EVICTION = "manager.eviction."
_SAFETY = "manager.safety."
_STORAGE = "manager.storage."
_DESCHEDULING = "manager.descheduling."
_ESTIMATORS, _ESTIMATION = "estimators.", "estimation."

# fmt: off
FLAGS: tuple[Flag, ...] = (
    Flag("controllers", _MANAGER, "*", parsing.parse_controllers, "manager.controllers.patterns",
         "Which controllers run: * is all that run by default, foo one more, -foo one less; the first match wins."),
    Flag("feature-gates", _PLACING | _AGENT, "", parsing.parse_feature_gates, "manager.gates",
         "Gates to switch, as Failover=true,GracefulEviction=false."),
    Flag("cluster-status-update-frequency", _PROBING, "10s", parsing.parse_positive_duration,
         _TIMING + "cluster_status_update_frequency", "How often a member is probed and its status is written."),
    Flag("cluster-failure-threshold", _PROBING, "30s", parsing.parse_duration, _TIMING + "cluster_failure_threshold",
         "How long a member must fail before it is not Ready."),
    Flag("cluster-success-threshold", _PROBING, "30s", parsing.parse_duration, _TIMING + "cluster_success_threshold",
         "How long a member must do well before it is Ready again."),
    Flag("cluster-probe-timeout", _PROBING, "5s", parsing.parse_positive_duration, _TIMING + "cluster_probe_timeout",
         "How long a probe waits for an answer.", ours=True),
    Flag("cluster-monitor-period", _MANAGER, "5s", parsing.parse_positive_duration, "",
         "Has no effect: silence is noticed at the instant at which it has lasted long enough."),
    Flag("cluster-monitor-grace-period", _MANAGER, "40s", parsing.parse_positive_duration,
         _TIMING + "cluster_monitor_grace_period", "How long a Pull cluster may be silent before it is Unknown."),
    Flag("cluster-startup-grace-period", _MANAGER, "1m0s", parsing.parse_positive_duration,
         _TIMING + "cluster_startup_grace_period", "The same for one that has never reported."),
    Flag("cluster-lease-duration", _BEATING, "40s", parsing.parse_positive_duration, _TIMING + "cluster_lease_duration",
         "How long the heartbeat of an agent is good for."),
    Flag("cluster-lease-renew-interval-fraction", _BEATING, "0.25", parsing.parse_fraction,
         _TIMING + "cluster_lease_renew_interval_fraction", "After which part of that it is renewed."),
    Flag("failover-eviction-timeout", _MANAGER, "5m0s", parsing.parse_duration, _TIMING + "failover_eviction_timeout",
         "How long after a cluster's death it gets the NoExecute taint."),
    Flag("graceful-eviction-timeout", _PLACING, "10m0s", parsing.parse_duration, _TIMING + "graceful_eviction_timeout",
         "How long an evicted copy waits for its replacement to be healthy."),
    Flag("enable-taint-manager", _PLACING, "true", parsing.parse_boolean, _EVICTION + "taint_manager",
         "false: the scheduler only places; the rest is left to others, see --controllers."),
    Flag("enable-no-execute-taint-eviction", _PLACING, "true", parsing.parse_boolean, _EVICTION + "no_execute",
         "Whether a NoExecute taint evicts what does not tolerate it."),
    Flag("no-execute-taint-eviction-purge-mode", _PLACING, DEFAULT_PURGE_MODE.value, parsing.parse_purge_mode,
         _EVICTION + "purge_mode", f"How, where the policy does not say: {' or '.join(TAINT_PURGE_MODES)}."),
    Flag("resource-eviction-rate", _PLACING, "", parsing.parse_rate, _EVICTION + "per_second",
         "How many evictions a second start because of taints; 0 is one in half an hour.  [default: no limit]"),
    Flag("unhealthy-cluster-threshold", _PLACING, "0.55", parsing.parse_fraction, "manager.brake.threshold",
         "The brake stops evictions when more than this part of the fleet is down ..."),
    Flag("unhealthy-cluster-minimum", _PLACING, "3", parsing.parse_count, "manager.brake.minimum",
         "... and at least so many clusters do.", ours=True),
    Flag("brake-release-after", _PLACING, "1m0s", parsing.parse_duration, "manager.brake.release_seconds",
         "How long the fleet must look well before the brake is released.", ours=True),
    Flag("silent-clusters-hold", _PLACING, "10m0s", parsing.parse_duration, "manager.brake.silence_seconds",
         "How long the brake stops evictions when clusters without a common region, zone or provider fall silent at "
         "once; 0: not.", ours=True),
    Flag("brake", _PLACING, "true", parsing.parse_boolean, "manager.brake.enabled",
         "false: evict although most of the fleet is down, as Karmada does.", ours=True),
    Flag("keep-without-place", _PLACING, "true", parsing.parse_boolean, _SAFETY + "keep_without_place",
         "false: evict although there is no place to go, as Karmada does.", ours=True),
    Flag("keep-last-healthy-copy", _PLACING, "true", parsing.parse_boolean, _SAFETY + "last_healthy_copy",
         "false: end evictions on any reported health, or by time alone, and take dependencies away before their "
         "copies, as Karmada does.", ours=True),
    Flag("could-not-look-is-not-dead", _PLACING, "true", parsing.parse_boolean, _SAFETY + "could_not_look",
         "false: evict also where only the status could not be collected, as Karmada does.", ours=True),
    Flag("withdraw-on-recovery", _PLACING, "true", parsing.parse_boolean, _SAFETY + "withdraw_on_recovery",
         "false: finish an eviction although its cluster is back, as Karmada does.", ours=True),
    Flag("probe-serving", _PROBING, "true", parsing.parse_boolean, _SAFETY + "probe_serving",
         "false: a cluster is Ready when its health endpoint says so, although it serves no read, as in Karmada.",
         ours=True),
    Flag("hold-volumes", _PROBING, "true", parsing.parse_boolean, _SAFETY + "hold_volumes",
         "false: make new volumes in a cluster that was rebuilt under its name, as Karmada does.",
         ours=True),
    Flag("only-watched-time", _PLACING, "true", parsing.parse_boolean, _SAFETY + "only_watched_time",
         "false: count time that nobody watched, and outages that nobody has seen again, as Karmada does.", ours=True),
    Flag("only-seen-is-ready", _PLACING, "true", parsing.parse_boolean, _SAFETY + "only_seen_is_ready",
         "false: templates count as ready what was reported last, also of clusters that are not Ready, as in Karmada.",
         ours=True),
    Flag("hold-down", _PLACING, "true", parsing.parse_boolean, "manager.hold_down.enabled",
         "false: place on clusters that come and go as on others, as Karmada does.", ours=True),
    Flag("karmada-exact", _PLACING | _AGENT, "false", parsing.parse_boolean, "karmada_exact",
         "Set every safety switch to what Karmada does; each can still be set by itself.", ours=True),
    Flag("default-not-ready-toleration-seconds", _ADMITTING, "300", parsing.parse_toleration,
         _TIMING + "default_not_ready_toleration_seconds", "What a policy tolerates that does not say otherwise."),
    Flag("default-unreachable-toleration-seconds", _ADMITTING, "300", parsing.parse_toleration,
         _TIMING + "default_unreachable_toleration_seconds", "The same for clusters that are unreachable."),
    Flag("event-ttl", _EMBEDDING, "1h0m0s", parsing.parse_positive_duration, _TIMING + "event_ttl",
         "How long the API server of the control plane keeps events.", ours=True),
    Flag("max-namespace-bytes", _EMBEDDING, "256Mi", parsing.parse_amount, _STORAGE + "namespace_bytes",
         "How many bytes users may store in one namespace; updates, bindings and Works may take twice as many.",
         ours=True),
    Flag("max-namespace-objects", _EMBEDDING, "100000", parsing.parse_count, _STORAGE + "namespace_objects",
         "How many objects users may store in one namespace.", ours=True),
    Flag("max-store-bytes", _EMBEDDING, "2Gi", parsing.parse_amount, _STORAGE + "store_bytes",
         "How many bytes users may store in all; the API server keeps them in memory.", ours=True),
    Flag("max-store-objects", _EMBEDDING, "1000000", parsing.parse_count, _STORAGE + "store_objects",
         "How many objects users may store in all.", ours=True),
    Flag("skipped-propagating-apis", _MANAGER, "", parsing.parse_skipped_apis, "manager.skipped.apis",
         "Kinds that are never propagated: <group>, <group>/<version> or <group>/<version>/<kind>,... between ;"),
    Flag("skipped-propagating-namespaces", _MANAGER, "kube-.*", parsing.parse_patterns, "manager.skipped.namespaces",
         "Namespaces that are never propagated: regular expressions of whole names, with commas between."),
    Flag("admit-rendered-objects", _MANAGER, "false", parsing.parse_boolean, "manager.admit_rendered",
         "true: ask the control plane's admission about what overrides make of templates; see security.md.", ours=True),
    Flag("trace-evictions", _MANAGER, "false", parsing.parse_tracing, "manager.trace_evictions",
         "true: send a trace of each eviction by OpenTelemetry (leeward[tracing]); see observability.md.", ours=True),
    Flag("scheduler-name", _SCHEDULING, "default-scheduler", parsing.parse_name, "manager.scheduler_name",
         "Which bindings are placed: those that ask for this scheduler."),
    Flag("scheduler-estimator-timeout", _SCHEDULING | _DESCHEDULER, "3s", parsing.parse_positive_duration,
         _TIMING + "scheduler_estimator_timeout", "How long an estimator may take to answer."),
    Flag("enable-scheduler-estimator", _ESTIMATING, "false", parsing.parse_boolean, _ESTIMATORS + "enabled",
         "Ask the estimator of each cluster how many replicas fit on its nodes, besides what it reports."),
    Flag("scheduler-estimator-port", _ASKING, "10352", parsing.parse_port, _ESTIMATORS + "port",
         "The port of the estimators' Services."),
    Flag("scheduler-estimator-service-prefix", _ASKING, "karmada-scheduler-estimator", parsing.parse_name,
         _ESTIMATORS + "service_prefix", "How the Services are called, before a hyphen and the cluster's name."),
    Flag("scheduler-estimator-service-namespace", _ASKING, "karmada-system", parsing.parse_name,
         _ESTIMATORS + "service_namespace", "Where they are."),
    Flag("scheduler-estimator-ca-file", _ASKING, "", parsing.parse_file, _ESTIMATORS + "authority",
         "Who has issued the certificates of estimators; without it connections are in the clear."),
    Flag("scheduler-estimator-cert-file", _ASKING, "", parsing.parse_file, _ESTIMATORS + "certificate",
         "The certificate that estimators are shown."),
    Flag("scheduler-estimator-key-file", _ASKING, "", parsing.parse_file, _ESTIMATORS + "key", "Its key."),
    Flag("insecure-skip-estimator-verify", _ASKING, "false", parsing.parse_boolean, _ESTIMATORS + "skip_verify",
         "Trust whatever certificate an estimator shows."),
    Flag("descheduling-interval", _DESCHEDULER, "2m0s", parsing.parse_positive_duration,
         _DESCHEDULING + "interval_seconds", "How often replicas without a node are looked for."),
    Flag("unschedulable-threshold", _DESCHEDULER, "5m0s", parsing.parse_duration, _DESCHEDULING + "threshold_seconds",
         "How long a replica must have found no node before it is placed in another cluster."),
    Flag("server-port", _ESTIMATOR, "10352", parsing.parse_serving_address, _ESTIMATION + "address",
         "Where gRPC is served: a port, or an address such as 127.0.0.1:10352."),
    Flag("grpc-auth-cert-file", _ESTIMATOR, "", parsing.parse_file, _ESTIMATION + "certificate",
         "The certificate that is shown; without it --insecure must be given."),
    Flag("grpc-auth-key-file", _ESTIMATOR, "", parsing.parse_file, _ESTIMATION + "key", "Its key."),
    Flag("grpc-client-ca-file", _ESTIMATOR, "", parsing.parse_file, _ESTIMATION + "client_authority",
         "Who has issued the certificates of those that may ask; without it everybody may."),
    Flag("insecure-skip-grpc-client-verify", _ESTIMATOR, "false", parsing.parse_boolean,
         _ESTIMATION + "skip_client_verify", "Let everybody ask in spite of that."),
    Flag("insecure", _ESTIMATOR, "false", parsing.parse_boolean, _ESTIMATION + "insecure",
         "Serve gRPC in the clear, to everybody who reaches the port.", ours=True),
    Flag("leader-elect", _LEADING, "true", parsing.parse_boolean, "leader.enabled",
         "Work only while holding the lease, so that one of several replicas works."),
    Flag("leader-elect-lease-duration", _LEADING, "15s", parsing.parse_positive_duration, "leader.lease_seconds",
         "How long others wait after a renewal that they saw."),
    Flag("leader-elect-renew-deadline", _LEADING, "10s", parsing.parse_positive_duration, "leader.renew_seconds",
         "How long a leader tries to renew before it gives up."),
    Flag("leader-elect-retry-period", _LEADING, "2s", parsing.parse_positive_duration, "leader.retry_seconds",
         "How long to wait between two attempts."),
    Flag("leader-elect-resource-namespace", _LEADING, "karmada-system", parsing.parse_name, "leader.namespace",
         "Where the lease is."),
    Flag("leader-elect-resource-name", _SCHEDULER, "", parsing.parse_name, "leader.name",
         "The name of the lease: another one for each scheduler with a --scheduler-name of its own.  "
         "[default: karmada-scheduler]"),
    Flag("shards", _SHARDED, "1", parsing.parse_count, "shards.count",
         "How many processes work on bindings and in clusters beside the leader, each on its share; 1: the leader does "
         "it itself.", ours=True),
    Flag("shard", _SHARDED, "", parsing.parse_shard, "shards.only",
         "Which of them this process is, from 0, or leader for the leader alone: for starting them one by one.  "
         "[default: the leader, which starts a process for each]", ours=True),
    Flag("metrics-bind-address", _SERVING, ":8080", parsing.parse_address, "serving.metrics",
         "Where /metrics is served; 0: nowhere.",
         defaults={"scheduler": ":8081", "agent": ":8082", "descheduler": ":8084", "scheduler-estimator": ":8083"}),
    Flag("health-probe-bind-address", _SERVING, ":10357", parsing.parse_address, "serving.health",
         "Where /healthz and /readyz are served; 0: nowhere.",
         defaults={"scheduler": ":10351", "agent": ":10358", "descheduler": ":10354", "scheduler-estimator": ":10353"}),
    Flag("bind-address", _KARMADAS, "", parsing.parse_host, "",
         "The host of the probes, as in older releases of Karmada: --health-probe-bind-address says both."),
    Flag("secure-port", _KARMADAS, "", parsing.parse_port, "",
         "The port of the probes, likewise.  [default: where --bind-address is given, Karmada's port]"),
    Flag("kube-api-qps", _SERVING, "", parsing.parse_limit, "limits.control_plane.per_second",
         "Requests a second to the control plane at most.  [default: no limit]"),
    Flag("kube-api-burst", _SERVING, "60", parsing.parse_count,
         "limits.control_plane.burst", "So many of them at once."),
    Flag("cluster-api-qps", _SERVING, "", parsing.parse_limit, "limits.members.per_second",
         "Requests a second to each member at most.  [default: no limit]"),
    Flag("cluster-api-burst", _SERVING, "60", parsing.parse_count, "limits.members.burst", "So many of them at once."),
    Flag("allowed-member-addresses", _REACHING, "", parsing.parse_networks, "limits.member_addresses",
         "Networks, with commas between, that members and interpreter webhooks may be in although they are link-local, "
         "metadata or loopback.",
         ours=True),
)
# fmt: on
BY_NAME = {flag.name: flag for flag in FLAGS}


def flags_of(component: Component) -> tuple[Flag, ...]:
    return tuple(flag for flag in FLAGS if component in flag.components)
