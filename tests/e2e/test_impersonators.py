"""Users whom the impersonator may be in real members: Push, joined anew in Pull mode, and joined anew in Push mode."""

from collections.abc import Generator

import pytest

from tests.e2e.fleet import TIMING, UNSERVED, Fleet
from tests.e2e.test_pull import register

ACCOUNT = "system:serviceaccount:karmada-cluster:karmada-impersonator"


@pytest.fixture
def proxied(fleet: Fleet) -> Generator[Fleet]:
    """jane may use the proxies of members, and the impersonators are limited to its users."""
    fleet.kubectl("create", "clusterrole", "proxied", "--verb=get", "--resource=clusters.cluster.karmada.io/proxy")
    fleet.kubectl("create", "clusterrolebinding", "proxied", "--clusterrole=proxied", "--user=jane")
    limiting = fleet.component("serve", *TIMING, *UNSERVED, "--controllers=*,unifiedAuth", name="limiting")
    fleet.serve.stop()
    limiting.start()
    try:
        yield fleet
    finally:
        limiting.stop()
        fleet.serve.start()
        for kind in ("clusterrolebinding", "clusterrole"):
            fleet.kubectl("delete", kind, "proxied")


def may_be(fleet: Fleet, member: str, user: str) -> bool:
    """Tells whether the impersonator may be this user, as the member's own authorizer says."""
    asked = ("auth", "can-i", "impersonate", f"users/{user}", f"--as={ACCOUNT}")
    return fleet.kubectl(*asked, context=member, fails=user != "jane").startswith("yes")


def is_cut(fleet: Fleet, member: str) -> bool:
    return may_be(fleet, member, "jane") and not may_be(fleet, member, "mallory")


def test_members_hear_of_the_users_of_their_proxy_also_when_they_join_anew(proxied: Fleet) -> None:
    fleet = proxied
    fleet.eventually(lambda: is_cut(fleet, "member1"), "member1 lets jane be spoken for, and nobody else")
    member = str(fleet.members["member3"].kubeconfig)
    assert "has left" in fleet.leeward("unjoin", "member3", "--cluster-kubeconfig", member)
    assert not fleet.exists("clusterrole", "karmada-impersonator", context="member3")
    agent = fleet.agent("member3", register(fleet, "member3"))
    agent.start()
    try:
        fleet.eventually(lambda: fleet.exists("cluster", "member3") and fleet.is_back("member3"), "member3 has joined")
        assert not fleet.exists("clusterrole", "karmada-impersonator", context="member3")
        reference = '{"spec": {"impersonatorSecretRef": {"namespace": "karmada-es-member3", "name": "impersonator"}}}'
        fleet.kubectl("patch", "cluster", "member3", "--type=merge", "-p", reference)
        fleet.eventually(lambda: is_cut(fleet, "member3"), "member3 lets jane be spoken for, in Pull mode")
        assert "has left" in fleet.leeward("unregister", "member3")
    finally:
        agent.stop()
        fleet.join("member3")
    fleet.eventually(lambda: fleet.is_back("member3"), "member3 is a Push member again")
    fleet.eventually(lambda: is_cut(fleet, "member3"), "member3 lets jane be spoken for, and nobody else")
