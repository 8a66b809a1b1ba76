"""What the suite places and watches: nginx of the examples, and its questions."""

from pathlib import Path

from tests.e2e.fleet import MEMBERS, Fleet

EXAMPLES = Path(__file__).parents[2] / "examples"
BINDING = "nginx-deployment"
WORK = "nginx-687f7fb96f"


def place_divided(fleet: Fleet, first: str, second: str) -> None:
    """Creates nginx, one replica on `first` and two on `second`, and waits until they run."""
    manifest = (EXAMPLES / "divided.yaml").read_text().replace("member1", "\0").replace("member2", second)
    fleet.kubectl("apply", "-f", "-", stdin=manifest.replace("\0", first))
    wait_placed(fleet, {first: 1, second: 2})


def wait_placed(fleet: Fleet, clusters: dict[str, int]) -> None:
    """Until nginx is assigned to these clusters, runs there, and the template says so.

    The template is asked last: while an update rolls, it still tells of what ran before.
    """
    fleet.eventually(lambda: fleet.exists("resourcebinding", BINDING), "the binding is there")
    fleet.eventually(lambda: fleet.assigned(BINDING) == clusters, f"nginx is assigned to {clusters}")
    for name, replicas in clusters.items():
        fleet.eventually(lambda name=name, n=replicas: ready_in(fleet, name) == n, f"{name} runs {replicas}")
    fleet.eventually(lambda: ready_in_template(fleet) == sum(clusters.values()), "the template says that all is ready")


def ready_in_template(fleet: Fleet) -> int:
    return fleet.get("deployment", "nginx").get("status", {}).get("readyReplicas", 0)


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
    """Deletes nginx, and waits until nothing is left of it anywhere."""
    fleet.kubectl("delete", "deployment/nginx", "propagationpolicy/nginx-propagation", "--wait=false")
    fleet.eventually(lambda: not fleet.exists("resourcebinding", BINDING), "the binding is gone")
    for member in MEMBERS:
        fleet.eventually(lambda member=member: is_cleaned_up(fleet, member), f"nothing is left in {member}")
