"""Overrides by tenants: they reach templates of their own namespace, and cost what they select.

The attacker has: every right to OverridePolicies and ConfigMaps in the namespace `tenant`.
They do: select what is in other namespaces, have another object made of theirs, write policies without end, and texts
that cost more to read than to write.
They must not get: a change of anything in other namespaces or of what is not theirs, or a control plane that is busy
with them while others wait.
"""

from collections.abc import Sequence
from typing import Any
from unittest import mock

import pytest

from kubeapi import codec
from kubeapi.codec import from_wire
from kubeapi.meta import Manifest
from kubeclient import Client, Invalid
from leeward.api.meta import find_condition
from leeward.api.names import OVERRIDE_FAILED_CONDITION
from leeward.api.override import ClusterOverridePolicy, OverridePolicy
from leeward.api.rules.bounds import MOST_OVERRIDERS
from leeward.core.overrides import embedded
from leeward.core.overrides.override_rule import Rules, rules_of
from leeward.core.overrides.rendering import (
    MOST_POLICIES_OF_A_TEMPLATE,
    Overridden,
    OverrideFailure,
    completed,
    override,
)
from leeward.sim.world import World
from tests.security.test_load import config_map
from tests.security.worlds import RBAC, ROLES, UnaskedWorld, namespaces, play_in, user_with
from tests.world.stories import CONFIG_MAPS, apply, deployment, play, policy, ready_replicas
from tests.world.test_overrides import BOTH, CLUSTER_OVERRIDES, OVERRIDES, TWO, images, overriding, replacing, tagged

DECISIVE = ("karmada.io", "leeward.dev", "resourcebinding.karmada.io", "resourcetemplate.karmada.io", "work.karmada.io")
"""Prefixes of marks by which somebody decides whose an object is; others are the template's own."""


async def attacker(world: World) -> Client:
    await namespaces(world, "tenant")
    return await user_with(world, "mallory", "tenant", "*", "overridepolicies", "configmaps", "propagationpolicies")


def reconciled(world: World) -> float:
    """Number of bindings that the binding controller has looked at."""
    counted = world.metrics.registry.get_sample_value(
        "controller_runtime_reconcile_total", {"controller": "binding-controller", "result": "success"}
    )
    return counted or 0.0


def failure(world: World, name: str, namespace: str = "tenant") -> str:
    binding = world.binding(name, namespace)
    condition = find_condition(binding.status.conditions, OVERRIDE_FAILED_CONDITION) if binding else None
    return condition.message if condition else ""


async def in_member(world: World, name: str, namespace: str = "tenant") -> Manifest:
    return await world.member("member1").client.get(CONFIG_MAPS, name, namespace)


@pytest.mark.parametrize("kind", [World, UnaskedWorld])
def test_s6_a_policy_reaches_no_other_namespace(kind: type[World]) -> None:
    async def story(world: World) -> None:
        mallory = await attacker(world)
        await apply(world.client, deployment("web", 1), policy("web", BOTH))
        everything = overriding("all", None, imageOverrider=tagged("evil"))
        foreign = overriding("foreign", {"namespace": "default"}, imageOverrider=tagged("evil"))
        await mallory.create(OVERRIDES, everything, "tenant")
        if kind is World:
            with pytest.raises(Invalid, match=r"spec\.resourceSelectors\[0\]\.namespace"):
                await mallory.create(OVERRIDES, foreign, "tenant")
        else:
            await mallory.create(OVERRIDES, foreign, "tenant")
        await world.sleep(60)
        assert await images(world) == {"member1": "nginx", "member2": "nginx"}

    play_in(kind, story, TWO)


@pytest.mark.parametrize(
    ("path", "value"),
    [("/metadata/namespace", "default"), ("/metadata/name", "theirs"), ("/kind", "Secret")],
)
def test_s6_a_policy_makes_no_other_object(path: str, value: str) -> None:
    async def story(world: World) -> None:
        mallory = await attacker(world)
        await apply(world.client, config_map("theirs"), policy("theirs", BOTH, "ConfigMap", "v1"))
        await mallory.create(OVERRIDES, overriding("evil", None, plaintext=replacing(path, value)), "tenant")
        await apply(mallory, config_map("mine"), policy("mine", BOTH, "ConfigMap", "v1"), namespace="tenant")
        await world.sleep(60)
        assert "an override cannot change" in failure(world, "mine-configmap")
        assert world.work("member1", "mine") is None
        found = await world.member("member1").client.list(CONFIG_MAPS)
        ours = {(o["metadata"]["namespace"], o["metadata"]["name"]) for o in found.items if o["data"] == {"a": "b"}}
        assert ours == {("default", "theirs")}

    play(story, TWO)


def test_s6_the_marks_of_the_control_plane_are_put_on_after_the_overrides() -> None:
    async def story(world: World) -> None:
        mallory = await attacker(world)
        await apply(mallory, config_map("mine"), policy("mine", BOTH, "ConfigMap", "v1"), namespace="tenant")
        await world.sleep(60)
        before = (await in_member(world, "mine"))["metadata"]
        marks = dict.fromkeys(before["annotations"], "evil")
        labels = {key: "evil" for key in before["labels"] if "karmada.io/" in key}
        owners = [{"apiVersion": "v1", "kind": "Node", "name": "node", "uid": "1"}]
        evil = overriding(
            "evil",
            None,
            annotationsOverrider=[{"operator": "add", "value": marks}],
            labelsOverrider=[{"operator": "add", "value": labels}],
            plaintext=[
                {"path": "/metadata/finalizers", "operator": "add", "value": ["evil.example.com/stays"]},
                {"path": "/metadata/ownerReferences", "operator": "add", "value": owners},
                {"path": "/metadata/uid", "operator": "add", "value": "evil"},
                {"path": "/data/a", "operator": "replace", "value": "c"},
            ],
        )
        await mallory.create(OVERRIDES, evil, "tenant")
        await world.sleep(60)
        found = await in_member(world, "mine")
        after = found["metadata"]
        assert found["data"] == {"a": "c"}
        decisive = {key for key in marks if key.partition("/")[0] in DECISIVE}
        assert len(decisive) >= 8
        assert "evil" not in {after["annotations"][key] for key in decisive}
        for key in labels:
            if key.partition("/")[0] in DECISIVE:
                assert after["labels"][key] == before["labels"][key], key
        assert (after["uid"], after.get("finalizers"), after.get("ownerReferences")) == (before["uid"], None, None)

    play(story, TWO)


@pytest.mark.long
def test_l4_a_policy_that_changes_concerns_only_what_it_selects() -> None:
    async def story(world: World) -> None:
        mallory = await attacker(world)
        everything = policy("all", BOTH, "ConfigMap", "v1")
        del everything["spec"]["resourceSelectors"][0]["name"]
        maps = [config_map(f"c{number}", tier=f"t{number % 25}") for number in range(50)]
        await apply(mallory, everything, *maps, namespace="tenant")
        await world.until(lambda: world.binding("c49-configmap", "tenant") is not None, 60)
        await world.sleep(60)
        quiet = reconciled(world)
        narrow = overriding("narrow", None, annotationsOverrider=[{"operator": "add", "value": {"a": "b"}}])
        labels = {"labelSelector": {"matchLabels": {"tier": "t2"}}}
        narrow["spec"]["resourceSelectors"] = [{"apiVersion": "v1", "kind": "ConfigMap", **labels}]
        await mallory.create(OVERRIDES, narrow, "tenant")
        await world.sleep(60)
        assert 2 <= reconciled(world) - quiet <= 16, "two, and what their own writes bring, of fifty"
        assert (await in_member(world, "c27"))["metadata"]["annotations"]["a"] == "b"
        quiet = reconciled(world)
        await mallory.patch(OVERRIDES, "narrow", {"metadata": {"annotations": {"touched": "1"}}}, "tenant")
        await world.sleep(60)
        assert reconciled(world) == quiet

    play(story, TWO)


def test_l4_policies_without_end_and_texts_that_grow_harm_only_their_own_template() -> None:
    async def story(world: World) -> None:
        mallory = await attacker(world)
        bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
            f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
            for before, name in zip("abcdefgh", "bcdefghi", strict=True)
        )
        mine = {**config_map("bomb"), "data": {"a": bomb}}
        yaml = [{"subPath": "/z", "operator": "add", "value": 1}]
        fused = overriding("fused", None, fieldOverrider=[{"fieldPath": "/data/a", "yaml": yaml}])
        fused["spec"]["resourceSelectors"] = [{"apiVersion": "v1", "kind": "ConfigMap", "name": "bomb"}]
        await mallory.create(OVERRIDES, fused, "tenant")
        for number in range(MOST_POLICIES_OF_A_TEMPLATE + 1):
            many = overriding(f"many-{number}", None)
            many["spec"]["resourceSelectors"] = [{"apiVersion": "v1", "kind": "ConfigMap", "name": "many"}]
            await mallory.create(OVERRIDES, many, "tenant")
        policies = [policy(name, BOTH, "ConfigMap", "v1") for name in ("bomb", "many")]
        await apply(mallory, mine, config_map("many"), *policies, namespace="tenant")
        await apply(world.client, deployment("web", 1), policy("web", BOTH))
        await world.sleep(60)
        assert "its aliases written out" in failure(world, "bomb-configmap")
        assert "101 override policies apply, and at most 100 may" in failure(world, "many-configmap")
        assert [await ready_replicas(world, name, "web") for name in TWO] == [1, 1]

    play(story, TWO)


@pytest.mark.parametrize("value", ["x" * 300_000, "é<" * 70_000], ids=["plain", "escaped"])
def test_s14_values_that_no_work_could_tell_of_say_so_and_change_nothing(value: str) -> None:
    """Annotations of a Work have 256 KiB together, in which each applied overrider is told."""

    async def story(world: World) -> None:
        mallory = await attacker(world)
        await apply(mallory, config_map("mine"), policy("mine", BOTH, "ConfigMap", "v1"), namespace="tenant")
        await world.sleep(60)
        long = overriding("long", None, labelsOverrider=marks(1), plaintext=replacing("/data/a", value))
        await mallory.create(OVERRIDES, long, "tenant")
        await world.sleep(60)
        told = failure(world, "mine-configmap")
        assert "OverridePolicy tenant/long: plaintext: Too long" in told
        assert "write long values into the template" in told
        assert (await in_member(world, "mine"))["data"] == {"a": "b"}
        await mallory.patch(OVERRIDES, "long", overriding("long", None, plaintext=replacing("/data/a", "c")), "tenant")
        await world.sleep(60)
        assert failure(world, "mine-configmap") == ""
        assert (await in_member(world, "mine"))["data"] == {"a": "c"}

    play(story, TWO)


def marks(count: int) -> list[Manifest]:
    return [{"operator": "add", "value": {f"mark{number}": "x"}} for number in range(count)]


def test_l4_a_rule_has_a_bounded_number_of_overriders() -> None:
    async def story(world: World) -> None:
        mallory = await attacker(world)
        large = overriding("large", None, annotationsOverrider=marks(MOST_OVERRIDERS))
        await mallory.create(OVERRIDES, large, "tenant")
        both = overriding("huge", None, annotationsOverrider=marks(60), labelsOverrider=marks(41))
        for huge in (overriding("huge", None, annotationsOverrider=marks(MOST_OVERRIDERS + 1)), both):
            with pytest.raises(Invalid, match=r"overrideRules\[0\]\.overriders: Too many: 101: .*several policies"):
                await mallory.create(OVERRIDES, huge, "tenant")

    play(story, {"member1": "Push"})


def test_l4_overriders_stored_beyond_their_bound_are_not_carried_out_and_say_so() -> None:
    async def story(world: World) -> None:
        mallory = await attacker(world)
        await mallory.create(
            OVERRIDES, overriding("huge", None, annotationsOverrider=marks(MOST_OVERRIDERS + 1)), "tenant"
        )
        await apply(mallory, config_map("c"), policy("c", BOTH, "ConfigMap", "v1"), namespace="tenant")
        await world.until(lambda: "101 overriders" in failure(world, "c-configmap"), 60)

    play_in(UnaskedWorld, story, TWO)


@pytest.mark.parametrize("kind", [World, UnaskedWorld])
def test_a_policy_with_a_rule_for_each_of_many_clusters_is_taken_and_carried_out(kind: type[World]) -> None:
    async def story(world: World) -> None:
        mallory = await attacker(world)
        each = overriding("each", None)
        each["spec"]["overrideRules"] = [
            {
                "targetCluster": {"clusterNames": [f"member{number}"]},
                "overriders": {"annotationsOverrider": [{"operator": "add", "value": {"at": f"member{number}"}}]},
            }
            for number in range(1, MOST_OVERRIDERS + 52)
        ]
        await mallory.create(OVERRIDES, each, "tenant")
        await apply(mallory, config_map("c"), policy("c", BOTH, "ConfigMap", "v1"), namespace="tenant")
        await world.sleep(60)
        assert failure(world, "c-configmap") == ""
        for name in TWO:
            found = await world.member(name).client.get(CONFIG_MAPS, "c", "tenant")
            assert found["metadata"]["annotations"]["at"] == name

    play_in(kind, story, TWO)


def test_l4_the_rules_that_mean_one_cluster_are_counted_together() -> None:
    both = overriding("p", None, annotationsOverrider=marks(60))
    both["spec"]["overrideRules"] *= 2
    rules = rules_of(from_wire(both, ClusterOverridePolicy))
    refused = completed(override(Overridden(config_map("c")), rules))
    assert isinstance(refused, OverrideFailure)
    assert refused.message.startswith("120 overriders: ")
    assert isinstance(completed(override(Overridden(config_map("c")), rules[:1])), Overridden)


def rules_for_every_cluster(**overriders: Any) -> Rules:
    return rules_of(from_wire(overriding("p", None, **overriders), ClusterOverridePolicy))


def test_l4_a_rendering_pauses_after_each_overrider() -> None:
    rules = rules_for_every_cluster(annotationsOverrider=marks(MOST_OVERRIDERS))
    assert sum(1 for _ in override(Overridden(config_map("c")), rules)) >= MOST_OVERRIDERS


@pytest.mark.parametrize(
    "targets",
    [
        (None, None),
        ({"clusterNames": ["member1", "member2"]}, {"clusterNames": ["member3", "member1"]}),
        ({"labelSelector": {"matchLabels": {"a": "b"}}}, {"labelSelector": {"matchLabels": {"a": "b"}}}),
        ({"clusterNames": ["member1"]}, None),
    ],
)
def test_l4_rules_that_surely_mean_one_cluster_are_counted_together_at_admission(
    targets: Sequence[Manifest | None],
) -> None:
    def of_rules(count: int) -> Manifest:
        made = overriding("both", None)
        made["spec"]["overrideRules"] = [
            {"overriders": {"annotationsOverrider": marks(count)}, **({"targetCluster": target} if target else {})}
            for target in targets
        ]
        return made

    async def story(world: World) -> None:
        mallory = await attacker(world)
        await mallory.create(OVERRIDES, of_rules(50), "tenant")
        with pytest.raises(Invalid, match=r"spec\.overrideRules: Too many: 102: .*several policies"):
            await mallory.create(OVERRIDES, of_rules(51), "tenant")

    play(story, {"member1": "Push"})


def containers(count: int) -> Manifest:
    items = [{"name": "c", "image": "nginx"} for _ in range(count)]
    spec = {"template": {"spec": {"containers": items}}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}


def test_l4_containers_are_gone_through_once_for_all_overriders_of_a_rule() -> None:
    rules = rules_for_every_cluster(
        imageOverrider=tagged("x") * 60,
        commandOverrider=[{"containerName": "c", "operator": "add", "value": ["x"]}] * 20,
        argsOverrider=[{"containerName": "d", "operator": "add", "value": ["x"]}] * 20,
    )
    steps = override(Overridden(containers(2_000)), rules)
    assert 2_000 <= sum(1 for _ in steps) < 2_100, "a pause after each container"


WORDS = ["x" * 1_000] * 200


@pytest.mark.parametrize(
    "overriders",
    [
        {"commandOverrider": [{"containerName": "c", "operator": "add", "value": WORDS}]},
        {"imageOverrider": [{"component": "Registry", "operator": "replace", "value": "x" * 200_000}]},
        {"argsOverrider": [{"containerName": "c", "operator": "add", "value": ["x"]}] * MOST_OVERRIDERS},
    ],
)
def test_l4_a_rendering_that_takes_too_much_fails_before_it_is_made(overriders: Manifest) -> None:
    """Twenty thousand containers, each of which would get a long text, or words again and again."""
    refused = completed(override(Overridden(containers(20_000)), rules_for_every_cluster(**overriders)))
    assert isinstance(refused, OverrideFailure)
    assert "more than 2000000 steps for one cluster" in refused.message
    assert isinstance(
        completed(override(Overridden(containers(50)), rules_for_every_cluster(**overriders))), Overridden
    )


LARGE_YAML = "# kept\n" + "".join(f"key{number}: {{a: {number}}}\n" for number in range(3_000))


def changing(count: int, *, operations: int = 1) -> list[Manifest]:
    """Overriders of one text, with some operations each."""
    return [
        {
            "fieldPath": "/data/a",
            "yaml": [{"subPath": f"/new{number}-{each}", "operator": "add", "value": 1} for each in range(operations)],
        }
        for number in range(count)
    ]


def with_text(text: str) -> Overridden:
    return Overridden({**config_map("c"), "data": {"a": text}})


def test_l4_a_text_is_read_once_for_all_overriders_that_change_it() -> None:
    parse, read = codec.parse_yaml_documents, 0

    def counted(text: str) -> list[Any]:
        nonlocal read
        read += 1
        return parse(text)

    with mock.patch.object(embedded.codec, "parse_yaml_documents", counted):
        made = completed(override(with_text("# kept\na: 1\n"), rules_for_every_cluster(fieldOverrider=changing(100))))
    assert isinstance(made, Overridden)
    assert made.manifest["data"]["a"].startswith("# kept\na: 1\nnew0-0: 1\n")
    assert made.manifest["data"]["a"].endswith("new99-0: 1\n")
    assert read == 2, "before the changes, and to see that the result says what it should"


CHANGES_OF_LARGE_TEXTS = [
    changing(60),
    changing(1, operations=1_000),
    [{"fieldPath": "/data/a", "yaml": [{"subPath": "/list/-", "operator": "add", "value": 1}]}] * 60,
    [{"fieldPath": "/data/a", "yaml": [{"subPath": "/key1/a", "operator": "replace", "value": 2}]}] * 60,
]


@pytest.mark.parametrize("change", CHANGES_OF_LARGE_TEXTS)
def test_many_changes_of_one_large_text_are_carried_out_and_keep_its_comments(change: list[Manifest]) -> None:
    """A text is charged once, and each change by its own size."""
    text = f"{LARGE_YAML}list:\n- 0  # kept, too\n"
    assert len(text) > 38_000
    steps = override(with_text(text), rules_for_every_cluster(fieldOverrider=change))
    made = completed(steps)
    assert isinstance(made, Overridden)
    assert made.manifest["data"]["a"].startswith("# kept\nkey0: {a: 0}\n")
    assert "- 0  # kept, too\n" in made.manifest["data"]["a"]


def test_l4_changes_of_large_texts_pause_after_each() -> None:
    steps = override(with_text(LARGE_YAML), rules_for_every_cluster(fieldOverrider=changing(1, operations=500)))
    assert sum(1 for _ in steps) >= 1_000, "a pause for each change, as it is made and as it is written"


def test_l4_large_texts_without_end_fail_and_say_so_whether_they_are_remembered_or_not() -> None:
    names = [f"t{number}" for number in range(20)]
    change = [
        {"fieldPath": f"/data/{name}", "yaml": [{"subPath": "/new", "operator": "add", "value": 1}]} for name in names
    ]
    for texts in (dict.fromkeys(names, LARGE_YAML), {name: f"{LARGE_YAML}# {name}\n" for name in names}):
        for _ in range(2):
            rules = rules_for_every_cluster(fieldOverrider=change)
            refused = completed(override(Overridden({**config_map("c"), "data": texts}), rules))
            assert isinstance(refused, OverrideFailure)
            assert refused.message.startswith("fieldOverrider[9]: the overrides take more than")


def test_overriders_of_one_text_that_is_named_in_two_ways_keep_their_order() -> None:
    texts = {**config_map("c"), "items": ["{}"]}
    how = [
        {"fieldPath": path, "json": [{"subPath": "/a", "operator": operator, "value": value}]}
        for path, operator, value in (("/items/0", "add", 1), ("/items/-1", "replace", 2), ("/items/0", "replace", 3))
    ]
    made = completed(override(Overridden(texts), rules_for_every_cluster(fieldOverrider=how)))
    assert isinstance(made, Overridden)
    assert made.manifest["items"] == ['{"a":3}']


def test_an_override_policy_of_a_namespace_changes_no_rights() -> None:
    """A tenant could make cluster-admin of a role in the member, which the control plane refuses to bind here."""
    admin = {"apiGroup": RBAC, "kind": "ClusterRole", "name": "cluster-admin"}
    bound: Manifest = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "b", "namespace": "tenant"},
        "roleRef": {**admin, "kind": "Role", "name": "reader"},
    }
    how = overriding("p", None, plaintext=replacing("/roleRef", admin))
    inside = {**how, "metadata": {"name": "p", "namespace": "tenant"}}
    refused = completed(override(Overridden(bound), rules_of(from_wire(inside, OverridePolicy))))
    assert isinstance(refused, OverrideFailure)
    assert "ClusterOverridePolicy" in refused.message
    allowed = completed(override(Overridden(bound), rules_of(from_wire(how, ClusterOverridePolicy))))
    assert isinstance(allowed, Overridden)
    assert allowed.manifest["roleRef"] == admin


def test_rights_reach_members_beside_an_override_policy_of_every_kind() -> None:
    """A policy without selectors leaves rights as they are; one for all namespaces changes them."""
    reader: Manifest = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "Role",
        "metadata": {"name": "reader"},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
    }

    async def story(world: World) -> None:
        mallory = await attacker(world)
        await mallory.create(OVERRIDES, overriding("every", None, labelsOverrider=marks(1)), "tenant")
        await apply(mallory, config_map("c"), policy("c", BOTH, "ConfigMap", "v1"), namespace="tenant")
        await world.client.create(ROLES, reader, "tenant")
        await apply(mallory, policy("reader", BOTH, "Role", f"{RBAC}/v1"), namespace="tenant")
        await world.sleep(60)
        assert failure(world, "reader-role") == ""
        for name in TWO:
            member = world.member(name).client
            labels = [
                (await member.get(resource, of, "tenant"))["metadata"]["labels"]
                for resource, of in ((CONFIG_MAPS, "c"), (ROLES, "reader"))
            ]
            assert ["mark0" in each for each in labels] == [True, False]
        wide = overriding("wide", None, labelsOverrider=[{"operator": "add", "value": {"wide": "x"}}])
        await world.client.create(CLUSTER_OVERRIDES, wide)
        await world.sleep(60)
        role = await world.member("member1").client.get(ROLES, "reader", "tenant")
        assert role["metadata"]["labels"]["wide"] == "x"

    play(story, TWO)


def test_an_override_policy_of_a_namespace_that_selects_rights_is_refused() -> None:
    async def story(world: World) -> None:
        mallory = await attacker(world)
        selecting = overriding("p", {"apiVersion": f"{RBAC}/v1", "kind": "RoleBinding"}, labelsOverrider=marks(1))
        with pytest.raises(Invalid, match=r"resourceSelectors\[0\]\.apiVersion.*ClusterOverridePolicy"):
            await mallory.create(OVERRIDES, selecting, "tenant")

    play(story, {"member1": "Push"})
