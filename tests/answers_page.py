"""The page docs/answers.md, rendered from runs of the verbs; `python -m tests.answers_page` writes it."""

import io
import tempfile
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import msgspec

from kubeapi.meta import ObjectMeta
from leeward.answers.fleet_state import FleetState, encode_state
from leeward.api.cluster import Cluster, ResourceSummary
from leeward.api.names import POLICY_NAME_ANNOTATION, POLICY_NAMESPACE_ANNOTATION
from leeward.api.outage import (
    ClusterOutage,
    MoveState,
    OutageApplication,
    OutagePhase,
    OutageSpec,
    OutageStatus,
    OutageStep,
    RecoveryTimes,
    StepKind,
)
from leeward.api.policy import Placement, PropagationPolicy, PropagationSpec, ResourceSelector
from leeward.api.work import ReplicaRequirements, ResourceBinding
from leeward.cli.program import main
from tests.builders import at, binding, cluster, dead, divided, duplicated, targets
from tests.fleet_pictures import picture_of

PAGE = Path(__file__).parents[1] / "docs/answers.md"
VERBS: tuple[tuple[str, str], ...] = (
    (
        "explain deploy/ledger",
        "Why an application is where it is, what holds it, what happens next, and what would help",
    ),
    ("what-if --fail eu-1 --recover-after 30m", "What an outage would do, before it happens"),
    ("resilience", "After which losses not everything can run"),
    ("timeline", "What has happened: outages, step by step"),
)
HEAD = """# Answers

Why is it there, what comes next, and what if a cluster fails? These verbs look at a control plane (the embedded one,
a kube-apiserver, or Karmada's own) and change nothing. They ask the functions that decide in production; stories on
the virtual clock compare the two. All take `-o json` and `-o yaml`, and `--from FILE` in place of a control plane.
They exit with 0 when all is well, with 1 when something needs somebody, and with 2 when they could not look. `kubectl
leeward VERB` is the same.

`leeward timeline` tells outages from their objects (`kubectl get outages`; decision 86). `--since 12h`, `--cluster`,
`--app deploy/web -n shop` and `--outage NAME` choose; `-o markdown` is a report for the post-mortem. It exits with 1
while an outage is running.

`leeward snapshot FILE` writes the picture that `--from` reads: clusters, policies, bindings, Works and outages. `-` is
standard output and input: `leeward snapshot - | leeward what-if --from - --fail a`.

A picture has names, labels, placements, requests, figures, addresses of load balancers, and the fields that a policy
hands on (`statePreservation`). Left out are:

- the contents of manifests, but for names and replicas; values of override policies; texts of statuses;
- annotations, but for those that decisions read (`KEPT_ANNOTATIONS` in `answers/redaction.py`);
- messages of members, which may quote a manifest: `(left out of the picture)` stands in their place;
- proxies of clusters, with their headers, and credentials in addresses.

`leeward explain` without `--from` shows messages whole, to whoever may read the objects. A
[cluster](runbooks.md#leewardclusternotready), a binding and a Work can be asked about, too.

They do not know:

- flags, where nobody tells them. The process that watches clusters writes its own into the Lease
  `karmada-system/leeward-heartbeat`; of Karmada's control planes the defaults are assumed;
- objects that other tools put into clusters, such as a ConfigMap that a template names and no policy propagates
  (`what-if` lists these);
- application failover, the steps of a failback, and the budget of a drain ([rehearsals](rehearsals.md) play them).

Nodes of one grade of a resource model are taken to be alike, as far as the requests of their Pods let them be.

`leeward explain TYPE/NAME --record FILE` writes what one decision is made on, and what is decided; `leeward replay
FILE` decides it again, and exits with 1 where its version decides otherwise.
"""


def fleet() -> FleetState:
    """Fleet of three clusters, of which one has been lost for six minutes."""
    clusters = [cluster("eu-1", region="eu"), dead("eu-2", since=-360, region="eu"), cluster("us-1", region="us")]
    apps = [
        named("ledger", binding(divided({"eu-2": 1}), 3, targets(**{"eu-2": 3}))),
        named("web", binding(divided({"eu-1": 2, "us-1": 1}), 6, targets(**{"eu-1": 4, "us-1": 2}))),
        named("agent", binding(duplicated("eu-1", "us-1"), 1, targets(**{"eu-1": 1, "us-1": 1}))),
    ]
    policies = [policy(app) for app in apps]
    return picture_of(map(with_room, clusters), apps, policies=policies, outages=(running(), over()))


def policy(app: ResourceBinding) -> PropagationPolicy:
    name = app.spec.resource.name
    selector = ResourceSelector("apps/v1", "Deployment", name=name)
    spec = PropagationSpec(resource_selectors=(selector,), placement=app.spec.placement or Placement())
    metadata = ObjectMeta(name=name, namespace="default")
    return PropagationPolicy("policy.karmada.io/v1alpha1", "PropagationPolicy", metadata, spec=spec)


def as_read_for_a_timeline(state: FleetState) -> FleetState:
    """Leaves out the bindings, as of a control plane: an outage is told as it is written."""
    return picture_of(state.clusters.values(), [], outages=state.recorded.outages)


def running() -> ClusterOutage:
    """Outage of the cluster that is lost."""
    steps = (
        OutageStep(at=at(-690), kind=StepKind.FAILED_PROBE, message="connection refused"),
        OutageStep(at=at(-660), kind=StepKind.NOT_READY, reason="Ready=False"),
        OutageStep(at=at(-360), kind=StepKind.NO_EXECUTE, reason="cluster.karmada.io/not-ready:NoExecute"),
        _wave(-300, 60, 9, 9, -264, ("eu-1", "us-1")),
        OutageStep(at=at(-60), kind=StepKind.HELD, reason="NoPlaceToGo", applications=1),
        _wave(-60, 300, 3, 2, -8, ("us-1",)),
    )
    held = "3 replicas stay in eu-2 (cluster.karmada.io/not-ready:NoExecute), because there is no place"
    listed = (
        _told(
            "ledger",
            MoveState.HELD,
            reason="NoPlaceToGo",
            message=f"The policy allows eu-2 only, and eu-2 is down. {held} to go: 0/3 clusters are available.",
            told={"NoPlaceToGo": at(-60)},
        ),
        _told("queue", MoveState.MOVING, {"us-1": 1}, -60),
        _told("mailer", MoveState.MOVED, {"us-1": 3}, -60, -8),
        _told("profile", MoveState.MOVED, {"us-1": 2}, -60, -14),
        _told("gateway", MoveState.MOVED, {"eu-1": 1, "us-1": 1}, -300, -264),
        _told("agent", MoveState.DUE, due_at=at(240)),
    )
    recovery = RecoveryTimes(count=11, median_seconds=426, worst_seconds=682, worst="11m22s")
    status = OutageStatus(not_ready_at=at(-660), no_execute_at=at(-360), recovery=recovery, steps=steps, listed=listed)
    counts = {"applications": 14, "moved": 11, "moving": 1, "due": 1, "held": 1}
    return _outage("eu-2", -690, msgspec.structs.replace(status, **counts))


def over() -> ClusterOutage:
    recovery = RecoveryTimes(count=4, median_seconds=651, worst_seconds=700, worst="11m40s")
    status = OutageStatus(phase=OutagePhase.OVER, lasted="19m8s", returned_at=at(-28_652), recovery=recovery)
    counts = {"applications": 4, "moved": 4}
    return _outage("us-1", -29_800, msgspec.structs.replace(status, **counts))


def _outage(name: str, since: float, status: OutageStatus) -> ClusterOutage:
    began = at(since)
    metadata = ObjectMeta(name=f"{name}-{began:%Y%m%d-%H%M%S}")
    return ClusterOutage(metadata=metadata, spec=OutageSpec(cluster=name, since=began), status=status)


def _wave(left: float, tolerated: int, number: int, healthy: int, healthy_at: float, to: tuple[str, ...]) -> OutageStep:
    return OutageStep(
        at=at(left),
        until=at(left),
        kind=StepKind.LEFT,
        applications=number,
        to=to,
        tolerated_seconds=tolerated,
        healthy=healthy,
        healthy_at=at(healthy_at),
    )


def _told(
    name: str,
    state: MoveState,
    to: Mapping[str, int] | None = None,
    left: float | None = None,
    healthy: float | None = None,
    **fields: Any,
) -> OutageApplication:
    return OutageApplication(
        kind="Deployment",
        name=name,
        namespace="default",
        state=state,
        to=to or {},
        left_at=None if left is None else at(left),
        healthy_at=None if healthy is None else at(healthy),
        recovery_seconds=None if healthy is None else int(healthy) + 690,
        **fields,
    )


def named(name: str, made: ResourceBinding) -> ResourceBinding:
    resource = msgspec.structs.replace(made.spec.resource, name=name)
    asked = ReplicaRequirements(resource_request={"cpu": "500m"})
    spec = msgspec.structs.replace(made.spec, resource=resource, replica_requirements=asked)
    claim = {POLICY_NAMESPACE_ANNOTATION: "default", POLICY_NAME_ANNOTATION: name}
    annotations = {**made.metadata.annotations, **claim}
    metadata = msgspec.structs.replace(made.metadata, name=f"{name}-deployment", annotations=annotations)
    return msgspec.structs.replace(made, metadata=metadata, spec=spec)


def with_room(member: Cluster) -> Cluster:
    summary = ResourceSummary(allocatable={"cpu": "16", "pods": "110"}, allocated={"cpu": "6", "pods": "20"})
    status = msgspec.structs.replace(member.status, resource_summary=summary, kubernetes_version="v1.31.0")
    return msgspec.structs.replace(member, status=status)


def page() -> str:
    """Text that the page has to hold."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "fleet.json"
        file.write_bytes(encode_state(fleet()))
        outages = Path(folder) / "outages.json"
        outages.write_bytes(encode_state(as_read_for_a_timeline(fleet())))
        files = {verb: outages if verb == "timeline" else file for verb, _ in VERBS}
        parts = [f"## {title}\n\n    $ leeward {verb}\n{_run(verb, files[verb])}" for verb, title in VERBS]
    return "\n".join([HEAD, *parts])


def _run(verb: str, file: Path) -> str:
    output = io.StringIO()
    try:
        with redirect_stdout(output), redirect_stderr(output):
            main([*verb.split(), "--from", str(file)])
    except SystemExit as end:
        code = end.code
    lines = [f"    {line}".rstrip() for line in output.getvalue().rstrip("\n").split("\n")]
    return "\n".join([*lines, "", f"It exits with {code}.", ""])


if __name__ == "__main__":
    PAGE.write_text(page())
