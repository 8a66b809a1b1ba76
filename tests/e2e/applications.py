"""Applications that the suite places and watches: nginx of the examples, and its questions."""

from pathlib import Path

from tests.e2e.fleet import MEMBERS, Fleet
from tests.kubectl import CONTROL_PLANE

EXAMPLES = Path(__file__).parents[2] / "examples"
BINDING = "nginx-deployment"
WORK = "nginx-687f7fb96f"


def place_divided(fleet: Fleet, first: str, second: str) -> None:
    """Creates nginx, one replica on `first` and two on `second`, and waits until they run."""
    apply_divided(fleet, first, second)
    wait_placed(fleet, {first: 1, second: 2})


def apply_divided(fleet: Fleet, first: str, second: str) -> None:
    manifest = (EXAMPLES / "divided.yaml").read_text().replace("member1", "\0").replace("member2", second)
    fleet.kubectl("apply", "-f", "-", stdin=manifest.replace("\0", first))


def wait_placed(fleet: Fleet, clusters: dict[str, int]) -> None:
    """Waits until nginx is assigned to these clusters, runs there as it is now, and the template says so."""
    fleet.eventually(lambda: fleet.exists("resourcebinding", BINDING), "the binding is there")
    fleet.eventually(lambda: fleet.assigned(BINDING) == clusters, f"nginx is assigned to {clusters}")
    for name, replicas in clusters.items():
        fleet.eventually(lambda name=name, n=replicas: is_rolled_out(fleet, n, name), f"{name} runs {replicas}")
    fleet.eventually(lambda: is_rolled_out(fleet, sum(clusters.values())), "the template says that all is ready")


def is_rolled_out(fleet: Fleet, replicas: int, context: str = CONTROL_PLANE) -> bool:
    """Tells whether the status tells of the present spec, and all replicas are of it and ready; none of before is
    left."""
    deployment = fleet.get("deployment", "nginx", context=context)
    status, generation = deployment.get("status", {}), deployment["metadata"]["generation"]
    counts = [status.get(name, 0) for name in ("replicas", "updatedReplicas", "readyReplicas")]
    return status.get("observedGeneration") == generation and counts == [replicas] * len(counts)


def ready_in(fleet: Fleet, member: str) -> int:
    return fleet.get("deployment", "nginx", context=member).get("status", {}).get("readyReplicas", 0)


def describe(fleet: Fleet) -> str:
    return fleet.kubectl("describe", "resourcebinding", BINDING)


def has_moved_to(fleet: Fleet, clusters: dict[str, int]) -> bool:
    spec = fleet.binding(BINDING)["spec"]
    assigned = {target["name"]: target.get("replicas", 0) for target in spec.get("clusters", [])}
    return assigned == clusters and not spec.get("gracefulEvictionTasks")


def is_cleaned_up(fleet: Fleet, member: str) -> bool:
    return not fleet.exists("work", WORK, "-n", f"karmada-es-{member}") and not fleet.exists(
        "deployment", "nginx", context=member
    )


def remove(fleet: Fleet) -> None:
    """Deletes nginx, and waits until nothing is left of it anywhere, but for its Pods."""
    placed = ("deployment/nginx", "propagationpolicy/nginx-propagation")
    fleet.kubectl("delete", *placed, "--wait=false")
    fleet.eventually(lambda: not fleet.exists(*placed, f"resourcebinding/{BINDING}"), "nothing is left of it here")
    for member in MEMBERS:
        fleet.eventually(lambda member=member: is_cleaned_up(fleet, member), f"nothing is left in {member}")
