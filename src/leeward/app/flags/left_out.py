"""Flags of Karmada's components that have no meaning here, each with the reason.

Karmada's components take them, so that its Deployments start with Leeward's image; the log says in one line which were
written, and why they are not used.
"""

_LOGS = "the log is written to standard error, one line an event"
_WORKERS = "workers take what is due; a count of them decides nothing here"
_QUEUES = "pauses between retries are fixed: 50 ms at first, 30 s at most"
_NO_CONTROLLER = "there is no such controller"
_NO_PROFILING = "use a profiler of the machine"
_CERTIFICATES = "the webhook makes and renews its certificates itself"
_NO_GATE = "no gate changes what is given back, or estimated"
_ROTATION = "the agent's certificate is renewed when two thirds of its time are over"

LEFT_OUT = {
    "add-dir-header": _LOGS,
    "allow-no-execute-taint-policy": "policies that add NoExecute taints are taken; the brake bounds what they cause",
    "alsologtostderr": _LOGS,
    "auto-gomemlimit-ratio": "memory is bounded by the container",
    "cert-dir": _CERTIFICATES,
    "cert-rotation-checking-interval": _ROTATION,
    "cert-rotation-remaining-time-threshold": _ROTATION,
    "cluster-api-context": _NO_CONTROLLER,
    "cluster-api-kubeconfig": _NO_CONTROLLER,
    "cluster-cache-sync-timeout": "a kind that does not sync holds back nothing else",
    "cluster-namespace": "Secrets of clusters are in karmada-cluster",
    "concurrent-cluster-propagation-policy-syncs": _WORKERS,
    "concurrent-cluster-syncs": _WORKERS,
    "concurrent-clusterresourcebinding-syncs": _WORKERS,
    "concurrent-dependent-resource-syncs": _WORKERS,
    "concurrent-namespace-syncs": _WORKERS,
    "concurrent-propagation-policy-syncs": _WORKERS,
    "concurrent-resource-template-syncs": _WORKERS,
    "concurrent-resourcebinding-syncs": _WORKERS,
    "concurrent-work-syncs": _WORKERS,
    "disable-scheduler-estimator-in-pull-mode": "an estimator that does not answer is left out, whatever the mode",
    "enable-cluster-resource-modeling": "use --feature-gates=CustomizedClusterResourceModeling=false",
    "enable-empty-workload-propagation": "templates with 0 replicas are placed as others are",
    "enable-pprof": _NO_PROFILING,
    "federated-resource-quota-sync-period": "what is used is counted anew with every change",
    "horizontal-pod-autoscaler-cpu-initialization-period": _NO_CONTROLLER,
    "horizontal-pod-autoscaler-downscale-delay": _NO_CONTROLLER,
    "horizontal-pod-autoscaler-downscale-stabilization": _NO_CONTROLLER,
    "horizontal-pod-autoscaler-initial-readiness-delay": _NO_CONTROLLER,
    "horizontal-pod-autoscaler-sync-period": _NO_CONTROLLER,
    "horizontal-pod-autoscaler-tolerance": _NO_CONTROLLER,
    "horizontal-pod-autoscaler-upscale-delay": _NO_CONTROLLER,
    "karmada-kubeconfig-namespace": _ROTATION,
    "large-cluster-num-threshold": "the brake takes its place: --unhealthy-cluster-minimum",
    "log-backtrace-at": _LOGS,
    "log-dir": _LOGS,
    "log-file": _LOGS,
    "log-file-max-size": _LOGS,
    "log-flush-frequency": _LOGS,
    "log-text-info-buffer-size": _LOGS,
    "log-text-split-stream": _LOGS,
    "logtostderr": _LOGS,
    "one-output": _LOGS,
    "plugins": "all plug-ins filter and score",
    "profiling-bind-address": _NO_PROFILING,
    "rate-limiter-base-delay": _QUEUES,
    "rate-limiter-bucket-size": _QUEUES,
    "rate-limiter-max-delay": _QUEUES,
    "rate-limiter-qps": _QUEUES,
    "resync-period": "caches follow watches, and are listed anew when a watch cannot be resumed",
    "secondary-resource-eviction-rate": "the brake takes its place: it stops evictions where this slows them down",
    "skip-headers": _LOGS,
    "skip-log-headers": _LOGS,
    "stderrthreshold": _LOGS,
    "tls-min-version": "TLS 1.2 and later are spoken",
    "v": _LOGS,
    "vmodule": _LOGS,
}
_OF_THE_MANAGER = {
    "cluster-lease-duration": "only agents renew Leases of their clusters; members in Push mode are probed",
    "cluster-lease-renew-interval-fraction": "only agents renew Leases of their clusters",
}
OF_ONE = {
    "controller-manager": _OF_THE_MANAGER,
    "serve": _OF_THE_MANAGER,
    "webhook": {
        "health-probe-bind-address": "/healthz and /readyz are served at --secure-port",
        "kube-api-burst": "the webhook asks little",
        "kube-api-qps": "the webhook asks little",
        "metrics-bind-address": "the webhook serves no metrics",
        "tls-cert-file-name": _CERTIFICATES,
        "tls-private-key-file-name": _CERTIFICATES,
    },
    "agent": {
        "controllers": "all that a member needs runs, and nothing else",
        "karmada-kubeconfig-field": _ROTATION,
        "karmada-kubeconfig-name": _ROTATION,
        "leader-elect-resource-lock": "the lock is a Lease",
    },
    "descheduler": {"feature-gates": _NO_GATE},
    "scheduler-estimator": {
        "feature-gates": _NO_GATE,
        "parallelism": "an answer is a look at each node, one after the other",
    },
}
"""Flags that one component does not use and others do, and why."""
SWITCHES = frozenset(
    {
        "add-dir-header",
        "allow-no-execute-taint-policy",
        "alsologtostderr",
        "disable-scheduler-estimator-in-pull-mode",
        "enable-cluster-resource-modeling",
        "enable-empty-workload-propagation",
        "enable-pprof",
        "log-text-split-stream",
        "logtostderr",
        "one-output",
        "skip-headers",
        "skip-log-headers",
    }
)
"""Flags, of these, that may stand without a value."""
