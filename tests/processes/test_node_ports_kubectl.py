"""A Service with node ports in a member that has given its own away: with the real kubectl, on real processes."""

from collections.abc import Generator

import pytest

from tests.processes.fleet import Fleet, needs_kubectl, running_fleet

pytestmark = [pytest.mark.processes, needs_kubectl]
WEB = """
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {type: NodePort, selector: {app: web}, ports: [{name: http, port: 80, targetPort: 8080}]}
"""
POLICY = """
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: all}
spec:
  resourceSelectors: [{apiVersion: v1, kind: Service}]
  placement: {clusterAffinity: {clusterNames: [member1, member2]}}
"""
OWN = """
apiVersion: v1
kind: Service
metadata: {name: own}
spec: {type: NodePort, ports: [{port: 80, nodePort: %d}]}
"""


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Generator[Fleet]:
    with running_fleet(tmp_path_factory.mktemp("fleet"), "--member", "member1", "--member", "member2") as running:
        yield running


def port(fleet: Fleet, context: str = "karmada-apiserver") -> int:
    return fleet.get("service", "web", context=context)["spec"]["ports"][0]["nodePort"]


def in_all(fleet: Fleet) -> bool:
    return all(fleet.exists("service", "web", context=name) for name in ("member1", "member2"))


@pytest.mark.parametrize("how", ["apply", "create", "apply --server-side", "replace"])
def test_each_member_chooses_and_keeps_its_choice(fleet: Fleet, how: str) -> None:
    fleet.kubectl(*("create" if how == "replace" else how).split(), "-f", "-", stdin=WEB)
    if how == "replace":
        fleet.kubectl("replace", "-f", "-", stdin=WEB)
    taken = port(fleet)
    assert taken >= 30086
    fleet.kubectl("create", "-f", "-", stdin=OWN % taken, context="member2")
    fleet.kubectl("create", "-f", "-", stdin=POLICY)
    fleet.eventually(lambda: in_all(fleet), "both members have the Service")
    first = {name: port(fleet, name) for name in ("member1", "member2")}
    assert first["member2"] not in (0, taken)
    fleet.kubectl("patch", "service", "web", "-p", '{"spec": {"sessionAffinity": "ClientIP"}}')
    fleet.eventually(
        lambda: fleet.get("service", "web", context="member2")["spec"]["sessionAffinity"] == "ClientIP", "it follows"
    )
    assert {name: port(fleet, name) for name in first} == first
    asked = WEB.replace("port: 80,", "port: 80, nodePort: 30005,")
    fleet.kubectl(*("replace" if how == "create" else how).split(), "-f", "-", stdin=asked)
    fleet.eventually(lambda: {port(fleet, name) for name in first} == {30005}, "the port that is asked for")
    fleet.kubectl("delete", "propagationpolicy/all", "service/web")
    fleet.kubectl("delete", "service", "own", context="member2")
    fleet.eventually(lambda: not fleet.exists("service", "web", context="member1"), "it is gone")
