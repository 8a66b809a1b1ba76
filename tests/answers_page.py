"""The page docs/answers.md, rendered from runs of the verbs; `python -m tests.answers_page` writes it."""

import io
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import msgspec

from leeward.answers.fleet_state import FleetState, encode_state
from leeward.api.cluster import Cluster, ResourceSummary
from leeward.api.work import ReplicaRequirements, ResourceBinding
from leeward.cli.program import main
from tests.builders import binding, cluster, dead, divided, duplicated, targets
from tests.fleet_pictures import picture_of

PAGE = Path(__file__).parents[1] / "docs/answers.md"
VERBS: tuple[tuple[str, str], ...] = (
    (
        "explain deploy/ledger",
        "Why an application is where it is, what holds it, what happens next, and what would help",
    ),
    ("explain cluster/eu-2", "The same of a cluster; a binding and a Work can be asked about, too"),
    ("what-if --fail eu-1 --recover-after 30m", "What an outage would do, before it happens"),
    ("resilience", "Which losses the rest can take over, worst first"),
)
HEAD = """# Answers

Why, when, what if: these verbs look at a control plane (the embedded one, a kube-apiserver, or Karmada's own) and
change nothing. They ask the functions that decide in production, so that what they say is what happens; stories on
the virtual clock compare the two. All take `-o json` and `-o yaml`, and `--from FILE` in place of a control plane.
They exit with 0 when all is well, with 1 when something needs somebody, and with 2 when they could not look. `kubectl
leeward VERB` is the same.

`leeward snapshot FILE` writes the picture that `--from` reads: clusters, policies, bindings and Works, without
secrets, the contents of manifests, or what applications say of themselves. What is below was printed of such a file.

What they do not know: the flags, where nobody tells them (the process that watches clusters writes its own into the
Lease `karmada-system/leeward-heartbeat`; of Karmada's control planes the defaults are assumed); which ConfigMaps and
Secrets a template names, where its policy does not propagate them; application failover, the steps of a failback, and
the budget of a drain, which are not projected. Where clusters have resource models, nodes of one grade are taken to
be alike.

`leeward explain TYPE/NAME --record FILE` writes what one decision is made on, and what is decided; `leeward replay
FILE` decides it again, and exits with 1 where its version decides otherwise.
"""


def fleet() -> FleetState:
    """Of three clusters, of which one has been lost for six minutes."""
    clusters = [cluster("eu-1", region="eu"), dead("eu-2", since=-360, region="eu"), cluster("us-1", region="us")]
    apps = [
        named("ledger", binding(divided({"eu-2": 1}), 3, targets(**{"eu-2": 3}))),
        named("web", binding(divided({"eu-1": 2, "us-1": 1}), 6, targets(**{"eu-1": 4, "us-1": 2}))),
        named("agent", binding(duplicated("eu-1", "us-1"), 1, targets(**{"eu-1": 1, "us-1": 1}))),
    ]
    return picture_of(map(with_room, clusters), apps)


def named(name: str, made: ResourceBinding) -> ResourceBinding:
    resource = msgspec.structs.replace(made.spec.resource, name=name)
    asked = ReplicaRequirements(resource_request={"cpu": "500m"})
    spec = msgspec.structs.replace(made.spec, resource=resource, replica_requirements=asked)
    metadata = msgspec.structs.replace(made.metadata, name=f"{name}-deployment")
    return msgspec.structs.replace(made, metadata=metadata, spec=spec)


def with_room(member: Cluster) -> Cluster:
    summary = ResourceSummary(allocatable={"cpu": "16", "pods": "110"}, allocated={"cpu": "6", "pods": "20"})
    status = msgspec.structs.replace(member.status, resource_summary=summary, kubernetes_version="v1.31.0")
    return msgspec.structs.replace(member, status=status)


def page() -> str:
    """What the page has to say."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "fleet.json"
        file.write_bytes(encode_state(fleet()))
        parts = [f"## {title}\n\n    $ leeward {verb}\n{_run(verb, file)}" for verb, title in VERBS]
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
