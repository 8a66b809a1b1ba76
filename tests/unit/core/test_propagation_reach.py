"""The reach of a binding: what its `spec.resource` may name."""

from typing import Any

import pytest

from kubeapi.meta import Manifest, ObjectMeta
from kubeapi.status import Problem
from leeward.api.work import BindingResource, ResourceBinding, ResourceBindingSpec
from leeward.core.propagation.reach import Reach, binding_problems, reach_problems, reference_problems
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
        (resource(api_version="v1", kind="ConfigMap", name="kube-root-ca.crt"), "tenant", "name"),
        (resource(api_version="v1/../apps/v1"), "tenant", "apiVersion"),
        (resource(api_version=""), "tenant", "apiVersion"),
        (resource(kind="a/b"), "tenant", "kind"),
        (resource(name="../web"), "tenant", "name"),
        (resource(name=""), "tenant", "name"),
    ],
)
def test_what_is_out_of_reach_is_named_by_its_field(named: BindingResource, namespace: str, field: str) -> None:
    assert fields(named, namespace) == [f"spec.resource.{field}"]


SKIPPED = "it is reserved for the control plane, or in --skipped-propagating-namespaces"


@pytest.mark.parametrize(
    ("named", "namespace", "told"),
    [
        (
            resource(api_version="a/b/c"),
            "tenant",
            'spec.resource.apiVersion: Invalid value: "a/b/c": must be VERSION or GROUP/VERSION, as in apps/v1',
        ),
        (
            resource(kind="a/b"),
            "tenant",
            'spec.resource.kind: Invalid value: "a/b": must be the name of a kind, as in Deployment',
        ),
        (
            resource(api_version="work.karmada.io/v1alpha2", kind="Work"),
            "tenant",
            "spec.resource.kind: Forbidden: work.karmada.io/v1alpha2 Work is never propagated: "
            "it is the control plane's own, or in --skipped-propagating-apis",
        ),
        (
            resource(api_version="v1", kind="Node"),
            "tenant",
            "spec.resource.kind: Forbidden: Node has no namespace: only a ClusterResourceBinding may refer to it",
        ),
        (
            resource(name="../web"),
            "tenant",
            'spec.resource.name: Invalid value: "../web": must be the name of an object, without / and %',
        ),
        (
            resource(namespace="other"),
            "tenant",
            'spec.resource.namespace: Invalid value: "other": must be "tenant", as the binding\'s own',
        ),
        (
            resource(),
            "",
            'spec.resource.namespace: Invalid value: "tenant": must be empty in a ClusterResourceBinding',
        ),
        (
            resource(namespace="kube-system"),
            "kube-system",
            f"spec.resource.namespace: Forbidden: nothing of kube-system is propagated: {SKIPPED}",
        ),
        (
            resource(api_version="v1", kind="Namespace", name="kube-system", namespace=""),
            "",
            f"spec.resource.name: Forbidden: Namespace kube-system is not propagated: {SKIPPED}",
        ),
    ],
)
def test_who_is_refused_is_told_why(named: BindingResource, namespace: str, told: str) -> None:
    assert [str(problem) for problem in reach_problems(named, namespace, Reach())] == [told]


def test_a_kind_with_namespaces_is_no_cluster_bindings() -> None:
    thing = resource(api_version="example.com/v1", kind="Thing", namespace="")
    message = "Thing has a namespace: only a ResourceBinding there may refer to it"
    assert reach_problems(thing, "", Reach(), True) == [Problem.forbidden("spec.resource.kind", message)]


def test_a_binding_that_there_is_is_asked_the_same() -> None:
    thing = resource(api_version="example.com/v1", kind="Global", namespace="private-a")
    there = ResourceBinding(
        metadata=ObjectMeta(name="web", namespace="private-a"), spec=ResourceBindingSpec(resource=thing)
    )
    assert binding_problems(there, Reach()) == []
    assert [problem.field for problem in binding_problems(there, Reach(), False)] == ["spec.resource.kind"]
    skipping = Reach(skipped_namespaces=("private-.*",))
    assert [problem.field for problem in binding_problems(there, skipping)] == ["spec.resource.namespace"]


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
    assert told(binding("ClusterResourceBinding")) == []
    assert told({**binding(), "metadata": {"name": "web"}}) == []
    assert told(binding("Work", namespace="other")) == []
    assert told({**binding(namespace="other"), "apiVersion": "work.karmada.io/v1alpha2/x"}) != []
    assert told({**binding(), "spec": {"resource": ["no", "mapping"]}}) != []


def test_a_reference_from_before_stays_but_no_new_one_comes() -> None:
    old = binding(namespace="other")
    assert told({**old, "metadata": {"name": "web", "namespace": "tenant", "finalizers": []}}, old) == []
    assert told(binding(namespace="third"), old) == ["spec.resource.namespace"]
    assert told(binding(namespace="tenant"), old) == []


def test_what_is_missing_in_a_reference_is_empty() -> None:
    def named(**given: str) -> list[str]:
        new = {**binding(), "spec": {"resource": given}}
        return [str(problem) for problem in reference_problems(new, None, Reach())]

    name = 'spec.resource.name: Invalid value: "": must be the name of an object, without / and %'
    namespace = 'spec.resource.namespace: Invalid value: "": must be "tenant", as the binding\'s own'
    kind = 'spec.resource.kind: Invalid value: "": must be the name of a kind, as in Deployment'
    version = 'spec.resource.apiVersion: Invalid value: "": must be VERSION or GROUP/VERSION, as in apps/v1'
    assert named() == [version, name, namespace]
    assert named(apiVersion="v1") == [kind, name, namespace]
