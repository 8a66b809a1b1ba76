"""Installation that is taken out again, but not from under the clusters that have joined."""

from tests.e2e.fleet import Fleet


def test_deinit_is_refused_while_clusters_are_joined_and_names_the_way_out(fleet: Fleet) -> None:
    assert "`leeward unjoin NAME` first" in fleet.leeward("deinit", fails=True)
    assert fleet.exists("clusters", "member1")


def test_a_bad_policy_is_refused_with_the_name_of_the_field(fleet: Fleet) -> None:
    policy = """
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: bad}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: nginx}]
  placement: {clusterAffinity: {clusterNames: [a]}, clusterAffinities: [{affinityName: b}]}
"""
    told = fleet.kubectl("create", "-f", "-", stdin=policy, fails=True)
    assert "clusterAffinity and clusterAffinities must not both be set" in told
