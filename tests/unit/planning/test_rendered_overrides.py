"""Renderings for one cluster of a binding, which serve the others, and nothing else."""

import gc
import weakref
from typing import Any

import pytest

from kubeapi.codec import copy_manifest, from_wire
from leeward.api.override import OverridePolicy
from leeward.core.overrides.override_rule import rules_of
from leeward.core.overrides.rendering import Overridden, completed, override
from leeward.planning.rendered_overrides import RenderedOverrides

TEMPLATE: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "default", "labels": {"app": "web"}},
    "spec": {"replicas": 2, "template": {"spec": {"containers": [{"name": "c", "image": "nginx:1.19"}]}}},
}
CONFIG: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "settings", "namespace": "default"},
    "data": {"long": "a"},
}


def policy(name: str, **overriders: Any) -> OverridePolicy:
    spec = {"overrideRules": [{"overriders": overriders}]}
    return from_wire({"metadata": {"name": name, "namespace": "default"}, "spec": spec}, OverridePolicy)


def test_what_was_rendered_for_one_cluster_is_not_rendered_again_for_the_next() -> None:
    known, before, other = RenderedOverrides(), Overridden(TEMPLATE), Overridden(copy_manifest(TEMPLATE))
    first = rules_of(policy("a", labelsOverrider=[{"operator": "add", "value": {"x": "1"}}]))
    second = rules_of(policy("b", labelsOverrider=[{"operator": "add", "value": {"y": "2"}}]))
    assert completed(known.override(before, ())) is before
    result = completed(known.override(before, first))
    assert isinstance(result, Overridden)
    assert result == completed(override(before, first))
    assert completed(known.override(before, first)) is result
    assert completed(known.override(other, first)) is not result, "another manifest"
    assert completed(known.override(before, second)) != result, "other rules"
    both = completed(known.override(result, second))
    assert both == completed(override(result, second))
    bare = completed(known.override(Overridden(result.manifest), second))
    assert isinstance(bare, Overridden)
    assert bare.applied == second, "the same manifest, of which less is said"


def with_replicas(replicas: object) -> dict[str, Any]:
    copied = copy_manifest(TEMPLATE)
    return {**copied, "spec": {**copied["spec"], "replicas": replicas}}


def replaced(path: str, value: object, operator: str = "replace") -> dict[str, Any]:
    return {"plaintext": [{"path": path, "operator": operator, "value": value}]}


@pytest.mark.parametrize(
    ("overriders", "once"),
    [
        ({"labelsOverrider": [{"operator": "add", "value": {"x": "1"}}]}, True),
        ({"imageOverrider": [{"component": "Tag", "operator": "replace", "value": "2"}]}, True),
        (replaced("/spec/paused", value=True, operator="add"), True),
        (replaced("/spec/replicas~1", 3, "add"), True),
        (replaced("/spec/replicas", 3), False),
        (replaced("/spec/replicas", None, "remove"), False),
        (replaced("/spec", {"replicas": 2, "template": {}}), False),
        (replaced("/spec", {"template": {}}), False),
        (replaced("", with_replicas(2)), False),
    ],
)
def test_what_only_other_replicas_tell_apart_is_rendered_once_where_no_rule_looks_at_them(
    overriders: dict[str, Any], once: bool
) -> None:
    known, rules = RenderedOverrides(), rules_of(policy("a", **overriders))
    more = rules_of(policy("b", labelsOverrider=[{"operator": "add", "value": {"y": "2"}}]))
    steps: list[int] = []
    for replicas in (2, 5, 0):
        before = Overridden(with_replicas(replicas))
        rendering = known.override(before, rules)
        steps.append(sum(1 for _ in rendering))
        result = completed(known.override(before, rules))
        assert result == completed(override(Overridden(with_replicas(replicas)), rules))
        assert isinstance(result, Overridden)
        assert completed(known.override(result, more)) == completed(override(result, more))
    assert steps == ([1, 0, 0] if once else [1, 1, 1])


def test_what_differs_in_more_than_replicas_is_rendered_for_itself() -> None:
    known, rules = (
        RenderedOverrides(),
        rules_of(policy("a", labelsOverrider=[{"operator": "add", "value": {"x": "1"}}])),
    )
    completed(known.override(Overridden(with_replicas(2)), rules))
    others: list[dict[str, Any]] = [
        {**with_replicas(3), "kind": "StatefulSet"},
        {**with_replicas(3), "spec": {}},
        CONFIG,
        {**CONFIG, "spec": 1},
    ]
    for other in others:
        assert completed(known.override(Overridden(other), rules)) == completed(override(Overridden(other), rules))


def test_what_is_known_of_a_manifest_lives_as_long_as_it_is_known() -> None:
    """A manifest is known by its identity, which nothing else may get meanwhile."""
    known, before = RenderedOverrides(), Overridden(copy_manifest(TEMPLATE))
    rules = rules_of(policy("a", labelsOverrider=[{"operator": "add", "value": {"x": "1"}}]))
    completed(known.override(before, rules))
    alive = weakref.ref(before), weakref.ref(rules[0])
    del before, rules
    gc.collect()
    assert all(each() is not None for each in alive)
