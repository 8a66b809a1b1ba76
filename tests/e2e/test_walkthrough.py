"""Work that a user does all day, on real Kubernetes: place, scale, update, duplicate, delete."""

from pathlib import Path

from kubeapi.meta import Manifest
from tests.e2e.applications import apply_divided, place_divided, ready_in, remove, wait_placed
from tests.e2e.fleet import MEMBERS, Fleet
from tests.e2e.servers import MEMBER_ADDRESSES

SHOP = (Path(__file__).parent / "shop.yaml").read_text()
DUPLICATED = """
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: nginx-propagation}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: nginx}]
  placement:
    clusterAffinity: {clusterNames: [member1, member2, member3]}
    spreadConstraints: [{minGroups: 2, maxGroups: 2}]
    replicaScheduling: {replicaSchedulingType: Duplicated}
"""
NGINX = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: nginx}
spec:
  replicas: 2
  selector: {matchLabels: {app: nginx}}
  template:
    metadata: {labels: {app: nginx}}
    spec: {containers: [{name: nginx, image: nginx}]}
"""


def test_what_is_applied_twice_is_unchanged_what_is_scaled_and_updated_follows(fleet: Fleet) -> None:
    place_divided(fleet, "member1", "member2")
    before = generations(fleet)
    apply_divided(fleet, "member1", "member2")
    assert generations(fleet) == before
    fleet.kubectl("scale", "deployment/nginx", "--replicas=6")
    wait_placed(fleet, {"member1": 2, "member2": 4})
    fleet.kubectl("set", "image", "deployment/nginx", "nginx=nginx:1.27")
    for member in ("member1", "member2"):
        fleet.eventually(lambda member=member: image_of(fleet, member) == "nginx:1.27", f"{member} has the new image")
    wait_placed(fleet, {"member1": 2, "member2": 4})
    remove(fleet)


def test_a_duplicated_application_loses_a_copy_and_gets_another(fleet: Fleet) -> None:
    fleet.kubectl("apply", "-f", "-", stdin=f"{NGINX}---{DUPLICATED}")
    fleet.eventually(lambda: len(placed(fleet)) == 2, "two clusters hold a copy")
    first, second = sorted(placed(fleet))
    (third,) = {*MEMBERS} - {first, second}
    fleet.eventually(lambda: ready_in(fleet, first) == ready_in(fleet, second) == 2, "both copies run")
    fleet.members[first].kill()
    fleet.eventually(lambda: {*placed(fleet)} == {second, third}, f"{third} has a copy instead of {first}")
    fleet.eventually(lambda: ready_in(fleet, third) == 2, "it runs")
    assert ready_in(fleet, second) == 2
    fleet.members[first].restart()
    remove(fleet)
    fleet.release(first)


def test_a_service_a_job_and_a_configmap_go_along_and_what_the_member_filled_in_stays(fleet: Fleet) -> None:
    fleet.kubectl("apply", "-f", "-", stdin=SHOP)
    for kind in ("deployment", "service", "configmap", "job"):
        fleet.eventually(lambda kind=kind: fleet.exists(kind, "shop", context="member3"), f"member3 has the {kind}")
    filled_in = of_the_member(fleet)
    assert filled_in["clusterIP"].startswith(f"{MEMBER_ADDRESSES}."), "not the template's"
    fleet.kubectl(
        "patch", "service", "shop", "--type=merge", "-p", '{"spec": {"ports": [{"name": "web", "port": 81}]}}'
    )
    fleet.kubectl("patch", "configmap", "shop", "--type=merge", "-p", '{"data": {"open": "no"}}')
    fleet.kubectl("patch", "job", "shop", "--type=merge", "-p", '{"spec": {"parallelism": 2}}')
    fleet.eventually(lambda: port_in(fleet) == 81, "the port follows")
    fleet.eventually(lambda: fleet.get("configmap", "shop", context="member3")["data"] == {"open": "no"}, "so do data")
    fleet.eventually(lambda: fleet.get("job", "shop", context="member3")["spec"]["parallelism"] == 2, "so does the Job")
    assert of_the_member(fleet) == filled_in, "immutable fields are the member's"
    fleet.kubectl("delete", "-f", "-", "--wait=false", stdin=SHOP)
    for kind in ("deployment", "service", "configmap", "job"):
        fleet.eventually(lambda kind=kind: not fleet.exists(kind, "shop", context="member3"), f"the {kind} is gone")


def generations(fleet: Fleet) -> list[int]:
    """Generations of the template and of its policy."""
    listed = fleet.get("deployment/nginx", "propagationpolicy/nginx-propagation")["items"]
    return [item["metadata"]["generation"] for item in listed]


def placed(fleet: Fleet) -> dict[str, int]:
    return fleet.assigned("nginx-deployment") if fleet.exists("resourcebinding", "nginx-deployment") else {}


def image_of(fleet: Fleet, member: str) -> str:
    return str(fleet.get("deployment", "nginx", context=member)["spec"]["template"]["spec"]["containers"][0]["image"])


def port_in(fleet: Fleet) -> int:
    return int(fleet.get("service", "shop", context="member3")["spec"]["ports"][0]["port"])


def of_the_member(fleet: Fleet) -> Manifest:
    """Metadata that an API server gives to an object, and takes from nobody."""
    service, job = (fleet.get(kind, "shop", context="member3")["spec"] for kind in ("service", "job"))
    return {"clusterIP": service["clusterIP"], "selector": job["selector"]}
