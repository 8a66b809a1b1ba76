"""The reach of a binding: what its `spec.resource` may name."""

from typing import Any

import pytest

from leeward.api.meta import Manifest
from leeward.api.work import BindingResource
from leeward.core.propagation.reach import Reach, reach_problems, reference_problems
from leeward.core.propagation.skipping import parse_skipped_apis

OWN = BindingResource(api_version="apps/v1", kind="Deployment", name="web", namespace="tenant")


def fields(resource: BindingResource, namespace: str, reach: Reach | None = None, **known: bool) -> list[str]:
    return [problem.field for problem in reach_problems(resource, namespace, reach or Reach(), **known)]


def resource(**changes: str) -> BindingResource:
    return BindingResource(
        **{"api_version": "apps/v1", "kind": "Deployment", "name": "web", "namespace": "tenant", **changes}
    )


@pytest.mark.parametrize(
    ("named", "namespace"),
    [
        (OWN, "tenant"),
        (resource(api_version="v1", kind="Secret"), "tenant"),
        (resource(api_version="my.example.com/v1beta1", kind="Thing", name="a:b.c"), "tenant"),
        (resource(api_version="v1", kind="Namespace", name="prod", namespace=""), ""),
        (resource(api_version="example.com/v1", kind="Global", namespace=""), ""),
    ],
)
def test_a_template_of_the_bindings_own_namespace_is_within_reach(named: BindingResource, namespace: str) -> None:
    assert fields(named, namespace) == []


@pytest.mark.parametrize(
    ("named", "namespace", "field"),
    [
        (resource(namespace="other"), "tenant", "namespace"),
        (resource(namespace=""), "tenant", "namespace"),
        (resource(namespace="tenant"), "", "namespace"),
        (resource(namespace="karmada-system"), "karmada-system", "namespace"),
        (resource(namespace="karmada-cluster"), "karmada-cluster", "namespace"),
        (resource(namespace="kube-system"), "kube-system", "namespace"),
        (resource(namespace="karmada-es-a"), "karmada-es-a", "namespace"),
        (resource(api_version="v1", kind="Namespace", name="kube-system", namespace=""), "", "name"),
        (resource(api_version="v1", kind="Namespace", name="karmada-es-a", namespace=""), "", "name"),
        (resource(api_version="v1", kind="Namespace"), "tenant", "kind"),
        (resource(api_version="rbac.authorization.k8s.io/v1", kind="ClusterRole"), "tenant", "kind"),
        (resource(api_version="work.karmada.io/v1alpha2", kind="ResourceBinding"), "tenant", "kind"),
        (resource(api_version="cluster.karmada.io/v1alpha1", kind="Cluster", namespace=""), "", "kind"),
        (resource(api_version="v1/../apps/v1"), "tenant", "apiVersion"),
        (resource(api_version=""), "tenant", "apiVersion"),
        (resource(kind="a/b"), "tenant", "kind"),
        (resource(name="../web"), "tenant", "name"),
        (resource(name=""), "tenant", "name"),
    ],
)
def test_what_is_out_of_reach_is_named_by_its_field(named: BindingResource, namespace: str, field: str) -> None:
    assert fields(named, namespace) == [f"spec.resource.{field}"]


def test_the_scope_of_a_kind_counts_where_it_is_known() -> None:
    thing = resource(api_version="example.com/v1", kind="Global")
    assert fields(thing, "tenant", is_namespaced=True) == []
    assert fields(thing, "tenant", is_namespaced=False) == ["spec.resource.kind"]
    everywhere = resource(api_version="example.com/v1", kind="Global", namespace="")
    assert fields(everywhere, "", is_namespaced=False) == []
    assert fields(everywhere, "", is_namespaced=True) == ["spec.resource.kind"]


def test_what_the_flags_skip_is_out_of_reach() -> None:
    reach = Reach(parse_skipped_apis("apps/v1/Deployment"), ("private-.*",))
    assert fields(OWN, "tenant", reach) == ["spec.resource.kind"]
    private = resource(api_version="v1", kind="Secret", namespace="private-a")
    assert fields(private, "private-a", reach) == ["spec.resource.namespace"]
    assert fields(resource(api_version="v1", kind="Secret", namespace="kube-system"), "kube-system", reach) == []


def binding(kind: str = "ResourceBinding", **named: Any) -> Manifest:
    return {
        "apiVersion": "work.karmada.io/v1alpha2",
        "kind": kind,
        "metadata": {"name": "web", "namespace": "tenant"},
        "spec": {"resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", **named}},
    }


def told(new: Manifest, old: Manifest | None = None) -> list[str]:
    return [problem.field for problem in reference_problems(new, old, Reach())]


def test_what_is_written_is_asked_the_same() -> None:
    assert told(binding(namespace="tenant")) == []
    assert told(binding(namespace="other")) == ["spec.resource.namespace"]
    assert told(binding()) == ["spec.resource.namespace"]
    assert told(binding("ClusterResourceBinding", namespace="tenant")) == ["spec.resource.namespace"]
    assert told(binding("Work", namespace="other")) == []
    assert told({**binding(), "spec": {"resource": ["no", "mapping"]}}) != []


def test_a_reference_from_before_stays_but_no_new_one_comes() -> None:
    old = binding(namespace="other")
    assert told({**old, "metadata": {"name": "web", "namespace": "tenant", "finalizers": []}}, old) == []
    assert told(binding(namespace="third"), old) == ["spec.resource.namespace"]
    assert told(binding(namespace="tenant"), old) == []
