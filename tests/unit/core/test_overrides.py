"""Overrides of one manifest for one cluster: all of a policy is carried out, or nothing of it."""

import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeapi.codec import copy_manifest, encode, from_wire
from kubeapi.diff import is_equal
from kubeapi.json_document import Document
from leeward.api.cluster import Cluster
from leeward.api.names import APPLIED_OVERRIDES_ANNOTATION
from leeward.api.override import FieldPatchOperation, OverridePolicy
from leeward.core.execution.ownership import stamp
from leeward.core.interpreter import prune
from leeward.core.overrides.applicable import override_scopes_of, rules_for, select_overridden, select_unread, selects
from leeward.core.overrides.effort import Effort
from leeward.core.overrides.embedded import MOST_YAML_CHARACTERS, patched_yaml
from leeward.core.overrides.images import override_image
from leeward.core.overrides.override_rule import rules_of
from leeward.core.overrides.plaintext import patch_document
from leeward.core.overrides.rendering import (
    MOST_POLICIES_OF_A_TEMPLATE,
    Overridden,
    OverrideFailure,
    completed,
    override,
    too_many,
)
from tests.override_policies import applicable_policies, override_precision
from tests.yaml_readers import READERS

CLUSTER = from_wire({"metadata": {"name": "member1", "labels": {"env": "test"}}, "spec": {"syncMode": "Push"}}, Cluster)
TEMPLATE: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "default", "labels": {"app": "web"}},
    "spec": {
        "replicas": 2,
        "template": {
            "spec": {"containers": [{"name": "c", "image": "nginx:1.19"}], "initContainers": [{"image": "i"}]}
        },
    },
}
CONFIG: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "settings", "namespace": "default"},
    "data": {"yaml": "a: 1\n", "two": "a: 1\n---\nb: 2\n", "json": '{"n": 12345678901234567890123}', "long": "a"},
}


def policy(name: str = "p", namespace: str = "default", **overriders: Any) -> OverridePolicy:
    spec = {"overrideRules": [{"overriders": overriders}]}
    return from_wire({"metadata": {"name": name, "namespace": namespace}, "spec": spec}, OverridePolicy)


def after(manifest: dict[str, Any], *policies: OverridePolicy) -> Overridden | OverrideFailure:
    selected = [rules_of(each) for each in policies]
    return too_many(selected) or completed(override(Overridden(manifest), rules_for(CLUSTER, selected)))


def rendered(manifest: dict[str, Any], **overriders: Any) -> dict[str, Any]:
    result = after(manifest, policy(**overriders))
    assert isinstance(result, Overridden), result
    return dict(result.manifest)


def refusal(manifest: dict[str, Any], **overriders: Any) -> str:
    result = after(manifest, policy(**overriders))
    assert isinstance(result, OverrideFailure)
    return result.message


def replacing(path: str, value: Any) -> list[dict[str, Any]]:
    return [{"path": path, "operator": "replace", "value": value}]


IDENTITY = "an override cannot change apiVersion, kind, metadata.namespace or metadata.name"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("/metadata/name", "other"),
        ("/metadata/namespace", "kube-system"),
        ("/kind", "StatefulSet"),
        ("/apiVersion", "apps/v1beta1"),
        ("/metadata", {}),
        ("", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "web", "namespace": "default"}}),
        ("", "text"),
    ],
)
def test_s6_an_override_cannot_make_it_another_object(path: str, value: Any) -> None:
    assert refusal(TEMPLATE, plaintext=replacing(path, value)) == IDENTITY


def test_a_rule_that_fails_leaves_nothing_half_done() -> None:
    before = copy_manifest(TEMPLATE)
    good = policy("a", labelsOverrider=[{"operator": "add", "value": {"x": "y"}}])
    result = after(TEMPLATE, good, policy("b", plaintext=replacing("/spec/nope", 1)))
    assert isinstance(result, OverrideFailure)
    assert result.policy is not None
    assert (result.policy.name, result.message) == ("b", "plaintext[0]: /spec/nope does not exist")
    assert before == TEMPLATE


def test_the_template_is_never_changed() -> None:
    before = copy_manifest(TEMPLATE)
    added = {"path": "/spec/template/spec/containers/0/env", "operator": "add", "value": [{"name": "A"}]}
    inner = {"path": "/spec/template/spec/containers/0/env/0/value", "operator": "add", "value": "b"}
    chosen = policy(plaintext=[added, inner], imageOverrider=[{"component": "Tag", "operator": "remove"}])
    result = after(TEMPLATE, chosen)
    assert isinstance(result, Overridden)
    assert result.manifest["spec"]["template"]["spec"]["containers"] == [
        {"name": "c", "image": "nginx", "env": [{"name": "A", "value": "b"}]}
    ]
    assert before == TEMPLATE
    assert added["value"] == [{"name": "A"}], "nor is the policy"


def test_what_was_applied_is_told_by_name_in_the_form_of_go() -> None:
    first = policy("b", labelsOverrider=[{"operator": "add", "value": {"z": "<&>", "a": "1"}}])
    second = policy("a", plaintext=[{"path": "/metadata/labels/app", "operator": "remove"}])
    result = after(TEMPLATE, first, second)
    assert isinstance(result, Overridden)
    assert result.annotations == {
        APPLIED_OVERRIDES_ANNOTATION: (
            '[{"policyName":"a","overriders":{"plaintext":[{"path":"/metadata/labels/app","operator":"remove",'
            '"value":null}]}},{"policyName":"b","overriders":{"labelsOverrider":[{"operator":"add",'
            r'"value":{"a":"1","z":"\u003c\u0026\u003e"}}]}}]'
        )
    }


def test_a_policy_that_is_named_more_precisely_has_the_last_word() -> None:
    def selecting(name: str, *selectors: dict[str, Any]) -> OverridePolicy:
        wire = [{"apiVersion": "apps/v1", "kind": "Deployment", **selector} for selector in selectors]
        return from_wire(
            {"metadata": {"name": name, "namespace": "default"}, "spec": {"resourceSelectors": wire}}, OverridePolicy
        )

    policies = [
        selecting("named", {"name": "web"}),
        selecting("labelled", {"labelSelector": {"matchLabels": {"app": "web"}}}),
        selecting("none"),
        selecting("all", {}),
        selecting("other", {"name": "other"}),
    ]
    selected = applicable_policies(TEMPLATE, policies)
    assert [rules[0].policy.name for rules in selected] == ["all", "none", "labelled", "named"]
    for each in policies:
        selected = select_overridden(each)
        parts = [selected[scope] for scope in override_scopes_of(TEMPLATE) if scope in selected]
        found = max((part.precision("web", {"app": "web"}) for part in parts), default=0)
        assert found == override_precision(TEMPLATE, each)


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("two", "fieldOverrider[0]: the text has 2 YAML documents, and can be changed only as one"),
        ("nope", "fieldOverrider[0]: /data/nope does not exist"),
        (
            "long",
            f"fieldOverrider[0]: the text is more than {MOST_YAML_CHARACTERS} characters of YAML; have it shorter, "
            "or in JSON",
        ),
    ],
)
def test_a_document_that_cannot_be_changed_is_refused(field: str, said: str) -> None:
    manifest = {**CONFIG, "data": {**CONFIG["data"], "long": "a" * (MOST_YAML_CHARACTERS + 1)}}
    yaml = [{"subPath": "/a", "operator": "replace", "value": 2}]
    assert refusal(manifest, fieldOverrider=[{"fieldPath": f"/data/{field}", "yaml": yaml}]) == said


def test_a_document_keeps_what_is_not_changed() -> None:
    json = [{"subPath": "/m", "operator": "add", "value": "\u00e4"}]
    yaml = [{"subPath": "/b", "operator": "add", "value": "one\ntwo\n"}]
    fields = [{"fieldPath": "/data/json", "json": json}, {"fieldPath": "/data/yaml", "yaml": yaml}]
    data = rendered(CONFIG, fieldOverrider=fields)["data"]
    assert data["json"] == '{"n":12345678901234567890123,"m":"\u00e4"}'
    assert data["yaml"] == "a: 1\nb: |\n  one\n  two\n"


def test_a_plaintext_override_does_what_json_patch_v5_of_karmada_does() -> None:
    """tests/data/jsonpatch. Differs: a path with an empty name is refused where nothing has that name, and v5 passes it
    over or adds it."""
    wrong: list[tuple[Any, Any, Any]] = []
    answers = map(json.loads, Path("tests/data/jsonpatch/answers.jsonl").read_text().splitlines())
    for document, (operation,), _, expected in answers:
        if operation["op"] not in ("add", "replace", "remove") or operation["path"] in ("/", "//"):
            continue
        changed = Document(document)
        try:
            patch_document(changed, operation["path"], operation["op"], operation.get("value"))
            result = changed.root
        except ValueError:
            result = None
        if not is_equal(result, expected):
            wrong.append((operation, result, expected))
    assert wrong == []


def test_the_last_container_is_named_by_a_negative_index() -> None:
    path = "/spec/template/spec/containers/-1"
    changed = rendered(TEMPLATE, plaintext=[{"path": f"{path}/image", "operator": "replace", "value": "b"}])
    assert changed["spec"]["template"]["spec"]["containers"][-1]["image"] == "b"
    added = rendered(TEMPLATE, plaintext=[{"path": path, "operator": "add", "value": {"name": "d"}}])
    assert [each["name"] for each in added["spec"]["template"]["spec"]["containers"]] == ["c", "d"]


SETTINGS = """\
# Read at start.
region: eu  # moved by overrides
commit: "12345e7"
zip: '08'
matchers:
- {name: a, matchType: =}
- name: b
  labels:
    team: x
  note: |
    two
    lines

schedule: on
"""


@pytest.mark.parametrize(
    ("operation", "before", "after"),
    [
        (("replace", "/region", "us"), "region: eu  #", "region: us  #"),
        (("replace", "/commit", "98765e4"), 'commit: "12345e7"', 'commit: "98765e4"'),
        (("replace", "/matchers/0/matchType", "=~"), "matchType: =}", "matchType: =~}"),
        (("replace", "/matchers/1/labels", {"y": 1}), "    team: x\n", '    "y": 1\n'),
        (("replace", "/matchers/1/note", "a\nb\n"), "    two\n    lines\n", "    a\n    b\n"),
        (("remove", "/zip", None), "zip: '08'\n", ""),
        (("remove", "/matchers/0", None), "- {name: a, matchType: =}\n", ""),
        (("add", "/matchers/1/labels/more", "08"), "    team: x\n", '    team: x\n    more: "08"\n'),
        (("add", "/matchers/1", {"name": "c"}), "- name: b\n", "- {name: c}\n- name: b\n"),
        (("remove", "/matchers/-2", None), "- {name: a, matchType: =}\n", ""),
        (("add", "/matchers/-1", {"name": "c"}), "\nschedule", "- {name: c}\n\nschedule"),
        (("add", "/last", [1]), "schedule: on\n", "schedule: on\nlast:\n- 1\n"),
    ],
)
def test_an_override_of_yaml_leaves_everything_else_as_it_is_written(
    operation: tuple[str, str, Any], before: str, after: str
) -> None:
    """Text that Kubernetes 1.36 reads as such stays so: Karmada 1.16 keeps the quotes of `12345e7` and of `08`, too."""
    operator, path, value = operation
    yaml = [{"subPath": path, "operator": operator, "value": value}]
    manifest = {**CONFIG, "data": {"settings": SETTINGS}}
    data = rendered(manifest, fieldOverrider=[{"fieldPath": "/data/settings", "yaml": yaml}])["data"]
    assert before in SETTINGS
    assert data["settings"] == SETTINGS.replace(before, after)


def test_yaml_that_is_written_anew_says_the_same() -> None:
    manifest = {**CONFIG, "data": {"settings": '{commit: "12345e7", zip: "08", many: 1e3, on: y, match: =}\n'}}
    yaml = [{"subPath": "/region", "operator": "add", "value": "us"}]
    data = rendered(manifest, fieldOverrider=[{"fieldPath": "/data/settings", "yaml": yaml}])["data"]
    assert data["settings"] == 'commit: "12345e7"\nmany: 1000\nmatch: "="\nregion: us\n"true": true\nzip: "08"\n'


def test_numbers_of_json_that_nobody_changes_stay_as_they_are_written() -> None:
    """JSON (RFC 8259) has numbers beyond a double, and Karmada keeps them; it has no Infinity."""
    manifest = {**CONFIG, "data": {"json": '{"n": 1E400, "price": 1.10}'}}
    json = [{"subPath": "/m", "operator": "add", "value": 1}]
    data = rendered(manifest, fieldOverrider=[{"fieldPath": "/data/json", "json": json}])["data"]
    assert data["json"] == '{"n":1E400,"price":1.10,"m":1}'


def test_yaml_whose_keys_are_no_texts_is_written_with_keys_as_json_has_them() -> None:
    manifest = {**CONFIG, "data": {"yaml": "{2: a, true: b, 2001-01-01: c}\n"}}
    yaml = [{"subPath": "/2", "operator": "replace", "value": "y"}, {"subPath": "/3", "operator": "add", "value": "n"}]
    data = rendered(manifest, fieldOverrider=[{"fieldPath": "/data/yaml", "yaml": yaml}])["data"]
    assert data["yaml"] == '"2": "y"\n"2001-01-01": c\n"3": "n"\n"true": b\n'


@pytest.mark.parametrize(
    ("component", "operator", "value", "becomes"),
    [
        ("Registry", "replace", "mirror:5000", "mirror:5000/a/b:1@sha256:" + "0" * 64),
        ("Tag", "replace", "2", "a.io/a/b:2"),
        ("Tag", "remove", "", "a.io/a/b"),
        ("Tag", "replace", "sha256:" + "1" * 64, "a.io/a/b@sha256:" + "1" * 64),
    ],
)
def test_an_image_with_tag_and_digest(component: str, operator: str, value: str, becomes: str) -> None:
    overrider = policy(imageOverrider=[{"component": component, "operator": operator, "value": value}])
    rule = overrider.spec.override_rules[0].overriders.image_overrider[0]
    assert override_image("a.io/a/b:1@sha256:" + "0" * 64, rule) == becomes


POD: dict[str, Any] = {"kind": "Pod", "metadata": {"name": "a", "namespace": "default"}}


@pytest.mark.parametrize(
    ("manifest", "overriders", "said"),
    [
        (
            {**POD, "spec": {"containers": [{"name": "c", "args": "x"}]}},
            {"argsOverrider": [{"containerName": "c", "operator": "add", "value": ["y"]}]},
            "argsOverrider[0]: args of the container c is no list",
        ),
        (
            {**POD, "spec": {"containers": [{"name": "c"}, "text"]}},
            {"commandOverrider": [{"containerName": "c", "operator": "add", "value": ["y"]}]},
            "commandOverrider[0]: the container 1 is no mapping",
        ),
        (
            {**POD, "spec": {"containers": [{"name": "c", "image": 7}]}},
            {"imageOverrider": [{"component": "Tag", "operator": "remove"}]},
            "imageOverrider[0]: there is no text that were an image",
        ),
        (
            {**CONFIG, "data": 7},
            {"fieldOverrider": [{"fieldPath": "/data", "json": [{"subPath": "/a", "operator": "remove"}]}]},
            "fieldOverrider[0]: /data is no text",
        ),
        (
            {**CONFIG, "data": {"j": "nonsense"}},
            {"fieldOverrider": [{"fieldPath": "/data/j", "json": [{"subPath": "/a", "operator": "remove"}]}]},
            "fieldOverrider[0]: the text is no JSON: Expecting value: line 1 column 1 (char 0)",
        ),
        (
            {**CONFIG, "data": {"j": '{"a": NaN}'}},
            {"fieldOverrider": [{"fieldPath": "/data/j", "json": [{"subPath": "/b", "operator": "add", "value": 1}]}]},
            "fieldOverrider[0]: the text is no JSON: NaN is no JSON number",
        ),
        (
            {**CONFIG, "data": {"y": "a: .inf\n"}},
            {"fieldOverrider": [{"fieldPath": "/data/y", "yaml": [{"subPath": "/b", "operator": "add", "value": 1}]}]},
            "fieldOverrider[0]: not valid YAML: json: unsupported value: .inf\n"
            '  in "<unicode string>", line 1, column 4',
        ),
        (
            {**POD, "metadata": {**POD["metadata"], "labels": "text"}},
            {"labelsOverrider": [{"operator": "add", "value": {"a": "b"}}]},
            "labelsOverrider[0]: metadata.labels is no mapping",
        ),
        (
            TEMPLATE,
            {"plaintext": replacing("/metadata/labels", "text")},
            "an override has made metadata.labels something else than a mapping",
        ),
        (
            TEMPLATE,
            {"plaintext": [{"path": "/metadata/annotations", "operator": "add", "value": ["text"]}]},
            "an override has made metadata.annotations something else than a mapping",
        ),
    ],
)
def test_what_cannot_be_carried_out_is_said_with_its_place(
    manifest: dict[str, Any], overriders: dict[str, Any], said: str
) -> None:
    assert refusal(manifest, **overriders) == said


def test_a_policy_selects_by_kind_name_and_label_or_all_there_is() -> None:
    def selecting(namespace: str = "default", **selector: Any) -> bool:
        wire = [{"apiVersion": "apps/v1", "kind": "Deployment", **selector}] if selector else []
        spec = {"resourceSelectors": wire}
        made = from_wire({"metadata": {"name": "p", "namespace": namespace}, "spec": spec}, OverridePolicy)
        return selects(select_overridden(made), TEMPLATE)

    assert selecting()
    assert selecting(name="web")
    assert selecting(labelSelector={"matchLabels": {"app": "web"}})
    assert not selecting(name="other")
    assert not selecting(labelSelector={"matchLabels": {"app": "other"}})
    assert not selecting(kind="StatefulSet")
    assert not selecting(namespace="other")


def test_too_many_policies_for_one_template_are_refused_with_the_way_out() -> None:
    result = after(TEMPLATE, *(policy(f"p{n}") for n in range(MOST_POLICIES_OF_A_TEMPLATE + 1)))
    assert isinstance(result, OverrideFailure)
    assert result.message == (
        "101 override policies apply, and at most 100 may: join some of them, or narrow their resourceSelectors"
    )
    assert isinstance(after(TEMPLATE, *(policy(f"p{n}") for n in range(MOST_POLICIES_OF_A_TEMPLATE))), Overridden)


def test_a_manifest_nested_beyond_reason_costs_only_its_own_override() -> None:
    deep: Any = {}
    for _ in range(200):
        deep = {"a": deep}
    text = "{" + '"a":{' * 100_000 + "}" * 100_001
    manifest = {**CONFIG, "data": {"json": text}}
    change = [{"subPath": "/a", "operator": "replace", "value": deep}]
    assert refusal(manifest, fieldOverrider=[{"fieldPath": "/data/json", "json": change}])


def test_overriders_do_not_nest_an_object_more_deeply_than_it_can_be_written() -> None:
    """Each value is one that the API server takes; put into one another they could be read by nobody."""
    deep: Any = "text"
    for _ in range(90):
        deep = {"a": deep}
    paths = ["/spec/deep" + "/a" * (90 * number) for number in range(20)]
    plaintext = [{"path": path, "operator": "add", "value": deep} for path in paths]
    encode(rendered(TEMPLATE, plaintext=plaintext[:2]))
    assert (
        refusal(TEMPLATE, plaintext=plaintext) == "plaintext[2]: the object would be nested more than 190 levels deep"
    )


def test_whatever_is_overridden_it_is_done_or_refused() -> None:
    """Drawn operations on whatever place, of whatever value: none is carried out by half, and none breaks anything."""
    draw = random.Random(17)
    values: list[Any] = [None, 1, "text", [], {}, ["a"], {"a": "b"}, {"labels": []}]
    places = ["", "/metadata", "/metadata/labels", "/spec", "/spec/template/spec/containers", "/nowhere/at/all"]
    places += ["/spec/template/spec/containers/0", "/metadata/annotations", "/spec/template/spec/containers/-", "no"]
    reached: Counter[str] = Counter()
    for _ in range(3_000):
        rules: list[dict[str, Any]] = [
            {
                "imageOverrider": [{"component": draw.choice(("Registry", "Tag")), "operator": "add", "value": "x"}],
                "commandOverrider": [{"containerName": "c", "operator": "remove", "value": ["x"]}],
                "labelsOverrider": [{"operator": draw.choice(("add", "remove")), "value": {"app": "x"}}],
                "plaintext": [
                    {
                        "path": draw.choice(places),
                        "operator": draw.choice(("add", "replace", "remove")),
                        "value": draw.choice(values),
                    }
                ],
            }
            for _ in range(2)
        ]
        before = copy_manifest(TEMPLATE)
        result = after(TEMPLATE, *(policy(f"p{number}", **rule) for number, rule in enumerate(rules)))
        assert before == TEMPLATE
        reached[type(result).__name__] += 1
        if isinstance(result, Overridden):
            assert result.manifest["metadata"]["name"] == "web"
            stamp(prune(result.manifest), "karmada-es-m", "web", {}, result.annotations)
    assert min(reached[kind] for kind in ("Overridden", "OverrideFailure")) > 100, reached


@pytest.mark.parametrize(
    ("namespace", "spec", "expected"),
    [
        ("default", {"resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment"}], "new": 1}, True),
        ("default", {"resourceSelectors": [{"apiVersion": "v1", "kind": "ConfigMap"}], "new": 1}, False),
        ("default", {"resourceSelectors": [{"apiVersion": "v1"}]}, True),
        ("default", {"resourceSelectors": {"by": "query"}}, True),
        ("default", {}, True),
        ("default", "a text", True),
        ("other", {"resourceSelectors": 1}, False),
        ("", {"resourceSelectors": 1}, True),
    ],
)
def test_s14_a_policy_that_cannot_be_read_may_select_all_where_its_selectors_cannot_be_read_either(
    namespace: str, spec: Any, *, expected: bool
) -> None:
    stored = {"metadata": {"name": "p", **({"namespace": namespace} if namespace else {})}, "spec": spec}
    web = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "default"}}
    assert selects(select_unread(stored), web) is expected


PLAIN_FIELDS = st.sampled_from(
    ['"12345e7"', '"08"', "eu", "'1e3'", "0x1f", "1.50", "~", "[a, '0o17']", "{b: '-.5'}", "|\n  08\n"]
)


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
@given(
    fields=st.dictionaries(st.from_regex("[a-f]{1,3}", fullmatch=True), PLAIN_FIELDS, max_size=6), flow=st.booleans()
)
def test_an_override_changes_nothing_that_it_does_not_name_to_other_readers(
    read: Callable[[str], Any], fields: dict[str, str], flow: bool
) -> None:
    pairs = [*fields.items(), ("region", "eu")]
    if flow:
        text = "{" + ", ".join(f"{name}: {value}" for name, value in pairs if "\n" not in value) + "}\n"
    else:
        text = "".join(f"{name}: {value}\n" for name, value in pairs)
    operation = FieldPatchOperation(sub_path="/region", operator="replace", value="us")
    patched = completed(patched_yaml(text, [(0, operation)], Effort()))
    assert read(patched) == {**read(text), "region": "us"}, patched
