"""Policy that has a template: the one that has claimed it, unless another preempts it."""

from typing import Any

import pytest

from kubeapi.codec import from_wire
from kubeapi.meta import Manifest
from leeward.api.policy import AnyPropagationPolicy, ClusterPropagationPolicy, PropagationPolicy
from leeward.core.propagation.matching import keep_or_find_policy, preempts

WEB: Manifest = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"}}


def own(name: str, preemption: str = "Never", priority: int | None = None, of: str = "") -> PropagationPolicy:
    metadata = {"namespace": "shop", "labels": {"propagationpolicy.karmada.io/permanent-id": name}}
    return from_wire(_wire(name, metadata, preemption, priority, of), PropagationPolicy)


def everywhere(
    name: str, preemption: str = "Never", priority: int | None = None, of: str = ""
) -> ClusterPropagationPolicy:
    metadata = {"labels": {"clusterpropagationpolicy.karmada.io/permanent-id": name}}
    return from_wire(_wire(name, metadata, preemption, priority, of), ClusterPropagationPolicy)


def _wire(name: str, metadata: Manifest, preemption: str, priority: int | None, of: str) -> Manifest:
    spec: Manifest = {
        "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": of}],
        "preemption": preemption,
    }
    if priority is not None:
        spec["priority"] = priority
    return {"metadata": {"name": name, **metadata}, "spec": spec}


@pytest.mark.parametrize(
    ("policy", "claimed", "taken_over"),
    [
        (own("b", "Always", 2), own("a", priority=1), True),
        (own("b", "Never", 2), own("a", priority=1), False),
        (own("b", "Always", 1), own("a", priority=1), False),
        (own("b", "Always", 1), own("a"), True),
        (own("b", "Always"), own("a"), False),
        (own("b", "Always"), own("a", priority=-1), True),
        (own("b", "Always", 1), own("a", priority=2), False),
        (own("b", "Always"), everywhere("a", priority=9), True),
        (everywhere("b", "Always", 9), own("a"), False),
        (everywhere("b", "Always", 9), everywhere("a"), True),
        (everywhere("b", "Always"), everywhere("a"), False),
    ],
)
def test_a_policy_preempts_by_namespace_and_then_by_priority(
    policy: AnyPropagationPolicy, claimed: AnyPropagationPolicy, *, taken_over: bool
) -> None:
    assert preempts(policy, claimed) is taken_over


def winner(claimed_by: str, *policies: Any, **options: Any) -> str | None:
    local = [policy for policy in policies if policy.namespace]
    cluster_wide = [policy for policy in policies if not policy.namespace]
    found = keep_or_find_policy(WEB, claimed_by, local, cluster_wide, **options)
    return found.name if found is not None else None


@pytest.mark.parametrize(
    ("policies", "preempted"),
    [
        ((own("a"), own("b", "Always", 1)), "b"),
        ((own("a"), own("b", "Always", 1, of="other")), "a"),
        ((own("a"), own("b", "Always", 1), own("c", "Always", 2)), "c"),
        ((own("a"), own("b", priority=1)), "a"),
        ((everywhere("a", priority=9), own("b", "Always")), "b"),
        ((everywhere("a"), everywhere("b", "Always", 1)), "b"),
        ((own("a"), everywhere("b", "Always", 1)), "a"),
    ],
    ids=[
        "it preempts", "it selects another", "the greatest of two", "it does not preempt", "of the namespace",
        "cluster-wide", "never from a namespace",
    ],
)  # fmt: skip
def test_a_claim_is_kept_unless_it_is_preempted_and_that_only_with_the_gate(
    policies: tuple[Any, ...], preempted: str
) -> None:
    assert winner("a", *policies) == "a"
    assert winner("a", *policies, preemption=False) == "a"
    assert winner("a", *policies, preemption=True) == preempted


def test_a_claim_of_nobody_is_no_claim() -> None:
    assert winner("", own("a"), own("b", priority=1)) == "b"
    assert winner("gone", own("a"), own("b", priority=1)) == "b"
    assert winner("a", own("a", of="other"), own("b")) == "b", "it does not select it any more"
    assert winner("a", own("a", of="other")) is None
