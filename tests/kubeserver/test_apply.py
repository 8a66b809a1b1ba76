"""Server-side apply: sets of fields, walks along structures, conflicts, and what is taken from whom."""

from typing import Any

import pytest

from kubeserver.patch.apply.checking import schema_errors
from kubeserver.patch.apply.fieldset import in_order, parse_fields, render_fields, show_path
from kubeserver.patch.apply.managers import APPLY, UPDATE, Entry, Managed, Manager, read_managed
from kubeserver.patch.apply.typed import compare, fields_of, merge, remove
from kubeserver.patch.apply.updating import BEFORE_FIRST_APPLY
from kubeserver.structures.builtin import structure_of_kind
from kubeserver.structures.structure import Structure
from tests.kubeserver.api_world import CONFIG_MAPS, DEPLOYMENTS, Answer, ApiWorld, config_map, deployment, tell

APPLY_PATCH = "application/apply-patch+yaml"
A_MAP = f"{CONFIG_MAPS}/a"


def _pod() -> Structure:
    structure = structure_of_kind("", "v1", "Pod")
    assert structure is not None
    return structure


def _spec(*containers: Any) -> dict[str, Any]:
    return {"spec": {"containers": list(containers)}}


async def _apply(world: ApiWorld, path: str, body: Any, manager: str, **query: str) -> Answer:
    return await world.patch(path, body, APPLY_PATCH, fieldManager=manager, **query)


def _owners(answer: Answer) -> dict[str, Any]:
    return {entry["manager"]: entry["fieldsV1"] for entry in answer.body["metadata"].get("managedFields", [])}


def test_fields_survive_their_wire_form():
    wire: dict[str, Any] = {
        "f:data": {".": {}, "f:a": {}},
        "f:spec": {'k:{"name":"x"}': {".": {}, "f:image": {}}},
        "f:gone": {},
    }
    assert render_fields(parse_fields(wire)) == wire


def test_what_is_no_place_is_refused():
    with pytest.raises(ValueError, match="no place for 'data'"):
        parse_fields({"data": {}})


def test_paths_are_shown_as_kubernetes_shows_them():
    assert show_path(("f:spec", 'k:{"port":80,"protocol":"TCP"}', "f:name")) == '.spec[port=80,protocol="TCP"].name'
    assert show_path(("f:tags", 'v:"a"')) == '.tags[="a"]'


def test_what_is_higher_up_comes_first():
    assert in_order([("f:a", "f:b"), ("f:z",)]) == [("f:z",), ("f:a", "f:b")]


def test_elements_are_owned_by_their_keys_with_defaults():
    ports = [{"containerPort": 80}]
    owned = {show_path(path) for path in fields_of(_pod(), _spec({"name": "a", "ports": ports}))}
    assert '.spec.containers[name="a"].ports[containerPort=80,protocol="TCP"].containerPort' in owned
    assert '.spec.containers[name="a"].ports' not in owned


def test_an_atom_is_owned_as_one():
    owned = {show_path(path) for path in fields_of(_pod(), {"spec": {"nodeSelector": {"a": "b"}}})}
    assert owned == {".spec.nodeSelector"}


def test_a_difference_says_what_came_changed_and_went():
    difference = compare(_pod(), _spec({"name": "a", "image": "1"}, {"name": "b"}), _spec({"name": "a", "image": "2"}))
    assert {show_path(p) for p in difference.modified} == {'.spec.containers[name="a"].image'}
    assert '.spec.containers[name="b"]' in {show_path(p) for p in difference.removed}
    assert not difference.added


@pytest.mark.parametrize(
    ("live", "config", "merged"),
    [
        ("abc", "b", "abc"),
        ("ab", "ba", "ba"),
        ("ab", "c", "abc"),
        ("axb", "ba", "xba"),
        ("", "ab", "ab"),
        ("a", "xa", "xa"),
    ],
)
def test_merged_lists_keep_the_applied_order_and_the_place_of_others(live: str, config: str, merged: str):
    result = merge(_pod(), _spec(*({"name": n} for n in live)), _spec(*({"name": n} for n in config)))
    assert "".join(container["name"] for container in result["spec"]["containers"]) == merged


def test_removing_an_element_takes_all_of_it():
    value = _spec({"name": "a", "image": "1"}, {"name": "b", "image": "2"})
    gone = frozenset([("f:spec", "f:containers", 'k:{"name":"a"}')])
    assert remove(_pod(), value, gone) == _spec({"name": "b", "image": "2"})


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"spec": {"nope": 1}}, ".spec.nope: field not declared in schema"),
        ({"spec": {"priority": "1"}}, ".spec.priority: expected numeric (int or float), got string"),
        ({"spec": {"nodeName": 1}}, ".spec.nodeName: expected string, got &value.valueUnstructured{Value:1}"),
        ({"spec": []}, ".spec: expected map, got []interface {}"),
        (_spec({"name": "a"}, {"name": "a"}), '.spec.containers: duplicate entries for key [name="a"]'),
        (
            _spec({"image": "x"}),
            ".spec.containers: element 0: associative list with keys has an element that omits key field "
            '"name" (and doesn\'t have default value)',
        ),
    ],
)
def test_a_configuration_that_does_not_fit_is_told_where(config: Any, said: str):
    assert schema_errors(_pod(), config) == [said]


def test_an_apply_is_the_same_manager_in_every_version():
    assert Manager("m", APPLY, "v1").identity == Manager("m", APPLY, "v2").identity
    assert Manager("m", UPDATE, "v1").identity != Manager("m", UPDATE, "v2").identity


def test_the_oldest_of_many_updaters_become_one():
    fields = parse_fields({"f:data": {}})
    managed = Managed(Entry(Manager(f"m{n}", UPDATE, "v1"), fields, f"2026-01-01T00:00:{n:02}Z") for n in range(15))
    managed.cap()
    names = [entry["manager"] for entry in managed.render()]
    assert len(names) == 10
    assert names[0] == "ancient-changes"


def test_owners_that_cannot_be_read_are_refused():
    with pytest.raises(ValueError, match="has no operation"):
        read_managed([{"manager": "x"}])


def test_two_who_apply_share_an_object_and_each_takes_its_own_away():
    async def story(world: ApiWorld) -> None:
        assert (await _apply(world, A_MAP, config_map("a", x="1"), "m1")).code == 201
        await _apply(world, A_MAP, config_map("a", y="2"), "m2")
        left = await _apply(world, A_MAP, {"apiVersion": "v1", "kind": "ConfigMap"}, "m1")
        assert left.body["data"] == {"y": "2"}
        assert _owners(left) == {"m2": {"f:data": {"f:y": {}}}}

    tell(story)


def _scale(spec: Any) -> dict[str, Any]:
    return {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web"}, "spec": spec}


def test_an_applied_scale_has_to_fit_and_says_nothing_of_replicas_that_it_does_not_name():
    async def story(world: ApiWorld) -> None:
        await world.create(DEPLOYMENTS, deployment("web", 3))
        path = f"{DEPLOYMENTS}/web/scale"
        for spec, said in (
            ([1], ".spec: expected map, got []interface {}"),
            ({"replicas": [None]}, ".spec.replicas: expected numeric (int or float), got []interface {}"),
        ):
            refused = await _apply(world, path, _scale(spec), "m")
            assert (refused.code, refused.body["message"].endswith(said)) == (500, True), refused.body
        silent = await _apply(world, path, _scale({}), "m", force="true")
        assert (silent.code, silent.body["spec"]) == (200, {"replicas": 3})

    tell(story)


def test_a_conflict_names_all_owners_and_force_takes_the_fields():
    async def story(world: ApiWorld) -> None:
        await _apply(world, A_MAP, config_map("a", x="1", y="1"), "m1")
        refused = await _apply(world, A_MAP, config_map("a", x="2", y="2"), "m2")
        assert refused.code == 409
        assert refused.body["message"] == ('Apply failed with 2 conflicts: conflicts with "m1":\n- .data.x\n- .data.y')
        forced = await _apply(world, A_MAP, config_map("a", x="2"), "m2", force="true")
        assert _owners(forced) == {"m1": {"f:data": {"f:y": {}}}, "m2": {"f:data": {"f:x": {}}}}

    tell(story)


def test_an_apply_that_changes_nothing_writes_nothing():
    async def story(world: ApiWorld) -> None:
        first = await _apply(world, f"{DEPLOYMENTS}/web", deployment("web"), "m1")
        again = await _apply(world, f"{DEPLOYMENTS}/web", deployment("web"), "m1")
        assert (again.code, again.version) == (200, first.version)

    tell(story)


def test_who_created_an_object_owns_what_it_asked_for_and_its_defaults():
    async def story(world: ApiWorld) -> None:
        created = await world.create(DEPLOYMENTS, deployment("web"), fieldManager="tool")
        spec = _owners(created)["tool"]["f:spec"]
        assert "." not in spec
        assert spec["f:strategy"]["f:rollingUpdate"] == {".": {}, "f:maxSurge": {}, "f:maxUnavailable": {}}
        assert spec["f:template"]["f:spec"]["f:containers"]['k:{"name":"main"}']["f:resources"] == {}

    tell(story)


def test_an_update_of_an_object_without_owners_leaves_it_without():
    async def story(world: ApiWorld) -> None:
        await world.create(CONFIG_MAPS, config_map("a", x="1"))
        stripped = await world.patch(A_MAP, {"metadata": {"managedFields": [{}]}})
        changed = await world.patch(A_MAP, {"data": {"y": "1"}})
        assert _owners(stripped) == _owners(changed) == {}
        applied = await _apply(world, A_MAP, config_map("a", z="1"), "m1")
        assert set(_owners(applied)) == {"m1", BEFORE_FIRST_APPLY}

    tell(story)
