"""Metrics of propagation: how long each step from a template to its members takes, and what is written there, under
Karmada's names.

    policy match -> policy apply -> binding to Works -> Work to member -> objects

Labels are Karmada's, too: `result` is `success` or `error`.
"""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from kubeapi.meta import ReadOnlyManifest

BUCKETS = tuple(0.001 * 2**exponent for exponent in range(12))
"""Buckets in seconds: from a millisecond to two, doubling; as Karmada's."""

Write = Literal["create", "update", "delete"]


class PropagationMetrics:
    def __init__(self, registry: CollectorRegistry) -> None:
        def histogram(name: str, about: str, *labels: str) -> Histogram:
            return Histogram(name, about, labels, registry=registry, buckets=BUCKETS)

        self._match = histogram("resource_match_policy_duration_seconds", "Finding the policy of a template")
        self._apply = histogram("resource_apply_policy_duration_seconds", "Applying a policy to a template", "result")
        self._attempts = Counter("policy_apply_attempts", "Policies applied", ("result",), registry=registry)
        self._preemptions = Counter("policy_preemption", "Policies that took over", ("result",), registry=registry)
        self._sync_works = histogram("binding_sync_work_duration_seconds", "From a binding to its Works", "result")
        self._sync_member = histogram("work_sync_workload_duration_seconds", "From a Work to its member", "result")
        labels = ("result", "apiversion", "kind", "member_cluster")
        self._writes = {
            write: Gauge(f"{write}_resource_{way}_cluster", f"Times a {write} in a member", labels, registry=registry)
            for write, way in (("create", "to"), ("update", "to"), ("delete", "from"))
        }
        """Gauges that only grow. No Counters: a Counter's name ends in `_total`, and these names are Karmada's."""

    def matched_policy(self, seconds: float) -> None:
        self._match.observe(seconds)

    def applied_policy(self, seconds: float, *, failed: bool) -> None:
        self._apply.labels(_result(failed)).observe(seconds)
        self._attempts.labels(_result(failed)).inc()

    def preempted_policy(self, *, failed: bool) -> None:
        self._preemptions.labels(_result(failed)).inc()

    def synced_works(self, seconds: float, *, failed: bool) -> None:
        self._sync_works.labels(_result(failed)).observe(seconds)

    def synced_member(self, seconds: float, *, failed: bool) -> None:
        self._sync_member.labels(_result(failed)).observe(seconds)

    @contextmanager
    def counted(self, write: Write, manifest: ReadOnlyManifest, cluster: str) -> Generator[None]:
        """Counts writes of one object in a member, by whether they fail."""
        failed = True
        try:
            yield
            failed = False
        finally:
            self.wrote(write, manifest, cluster, failed=failed)

    def wrote(self, write: Write, manifest: ReadOnlyManifest, cluster: str, *, failed: bool) -> None:
        """One object in a member."""
        self._writes[write].labels(_result(failed), manifest["apiVersion"], manifest["kind"], cluster).inc()


def _result(failed: bool) -> str:
    return "error" if failed else "success"
