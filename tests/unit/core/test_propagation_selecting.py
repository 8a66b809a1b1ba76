"""The selectors of a policy, sorted by what they name: they answer as the plain search through them does."""

from datetime import UTC, datetime
from typing import Any

import pytest

from kubeapi.meta import LabelSelector, Manifest, ObjectMeta
from leeward.api.policy import ClusterPropagationPolicy, PropagationPolicy, PropagationSpec, ResourceSelector
from leeward.core.propagation.matching import ALL, BY_LABEL, BY_NAME, NO_MATCH, selector_priority
from leeward.core.propagation.selecting import Scope, precision_in, scopes_of, select

WEB: Manifest = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "shop", "labels": {"app": "web"}},
}
READER: Manifest = {"apiVersion": "example.com/v1", "kind": "Reader", "metadata": {"name": "reader"}}
LABELLED, OTHERWISE = LabelSelector(match_labels={"app": "web"}), LabelSelector(match_labels={"app": "other"})


def deployments(namespace: str = "", name: str = "", labels: LabelSelector | None = None) -> ResourceSelector:
    return ResourceSelector("apps/v1", "Deployment", namespace, name, labels)


def policy(*selectors: ResourceSelector, namespace: str = "shop", **metadata: Any) -> PropagationPolicy:
    spec = PropagationSpec(resource_selectors=selectors)
    return PropagationPolicy(metadata=ObjectMeta(name="p", namespace=namespace, **metadata), spec=spec)


def cluster_policy(*selectors: ResourceSelector) -> ClusterPropagationPolicy:
    spec = PropagationSpec(resource_selectors=selectors)
    return ClusterPropagationPolicy(metadata=ObjectMeta(name="p"), spec=spec)


@pytest.mark.parametrize(
    ("selectors", "precision"),
    [
        pytest.param([deployments()], ALL, id="all"),
        pytest.param([deployments("shop")], ALL, id="all of the namespace"),
        pytest.param([deployments("other")], NO_MATCH, id="all of another"),
        pytest.param([deployments("other"), deployments()], ALL, id="of another, and all"),
        pytest.param([deployments(name="web")], BY_NAME, id="by name"),
        pytest.param([deployments(name="api")], NO_MATCH, id="another name"),
        pytest.param([deployments(name="web", labels=OTHERWISE)], BY_NAME, id="a name counts before labels"),
        pytest.param([deployments(labels=LABELLED)], BY_LABEL, id="by labels"),
        pytest.param([deployments(labels=OTHERWISE)], NO_MATCH, id="other labels"),
        pytest.param([deployments(labels=OTHERWISE), deployments(labels=LABELLED)], BY_LABEL, id="one of two"),
        pytest.param([deployments(), deployments(name="web"), deployments(labels=LABELLED)], BY_NAME, id="the best"),
        pytest.param([deployments(), deployments("shop", labels=LABELLED)], BY_LABEL, id="the best of both scopes"),
        pytest.param([ResourceSelector("v1", "Deployment")], NO_MATCH, id="another version"),
        pytest.param([ResourceSelector("apps/v1", "DaemonSet")], NO_MATCH, id="another kind"),
        pytest.param([], NO_MATCH, id="nothing"),
    ],
)
def test_the_best_selector_counts(selectors: list[ResourceSelector], precision: int) -> None:
    for one in (policy(*selectors), cluster_policy(*selectors)):
        assert precision_in(select(one), WEB) == precision
        assert selector_priority(WEB, one.spec, one.namespace) == precision


def test_what_has_no_namespace_is_selected_by_who_has_none() -> None:
    readers = ResourceSelector("example.com/v1", "Reader")
    assert precision_in(select(cluster_policy(readers)), READER) == ALL
    assert precision_in(select(policy(readers)), READER) == NO_MATCH


def test_a_policy_selects_in_its_own_namespace_alone() -> None:
    assert set(select(policy(deployments(), deployments("other")))) == {Scope("apps/v1", "Deployment", "shop")}
    assert set(select(cluster_policy(deployments(), deployments("other")))) == {
        Scope("apps/v1", "Deployment", ""),
        Scope("apps/v1", "Deployment", "other"),
    }


def test_a_selector_without_a_namespace_means_the_policys_own() -> None:
    spec = policy(deployments()).spec
    assert selector_priority(WEB, spec, "shop") == ALL
    assert selector_priority(WEB, spec, "other") == NO_MATCH
    assert selector_priority(WEB, spec, "") == ALL


def test_a_policy_that_is_being_deleted_selects_nothing() -> None:
    going = policy(deployments(), deletion_timestamp=datetime(2026, 11, 22, tzinfo=UTC))
    assert select(going) == {}


def test_a_template_is_looked_for_in_its_namespace_and_in_all() -> None:
    assert list(scopes_of(WEB)) == [Scope("apps/v1", "Deployment", "shop"), Scope("apps/v1", "Deployment", "")]
    assert list(scopes_of(READER)) == [Scope("example.com/v1", "Reader", "")]
