"""Reading built-in kinds as their structures, label selectors in their text form, and rules in CEL."""

from typing import Any

import pytest

from kubeserver.apiextensions.node import compile_schema
from kubeserver.apiextensions.rules import check_rules
from kubeserver.builtin_kinds import BUILT_IN
from kubeserver.cel import Unwritable, compile_program
from kubeserver.registry.decoding_errors import DecodingError
from kubeserver.registry.duplicates import duplicate_fields, duplicate_yaml_fields
from kubeserver.registry.labels import parse_labels
from kubeserver.registry.strict_decoding import fit
from kubeserver.serialization.yaml import dump_yaml, load_yaml
from kubeserver.structures.builtin import structure_of_kind
from kubeserver.structures.structure import Structure, complete


def _structure(group: str, kind: str) -> Structure:
    structure = structure_of_kind(group, "v1", kind)
    assert structure is not None
    return structure


def test_every_stored_kind_has_a_structure():
    missing = [k.kind for k in BUILT_IN if not k.ephemeral and structure_of_kind(k.group, k.version, k.kind) is None]
    assert missing == []


def test_unknown_fields_go_and_are_reported_in_the_order_of_the_text():
    manifest: dict[str, Any] = {"spec": {"containers": [{"name": "a", "imagge": "x"}], "nope": 1}}
    assert fit(_structure("", "Pod"), manifest) == ["spec.containers[0].imagge", "spec.nope"]
    assert manifest == {"spec": {"containers": [{"name": "a"}]}}


_EMPTIES: list[tuple[str, str, Any, Any]] = [
    ("", "ConfigMap", {"data": {"a": None, "b": ""}}, {"data": {"a": "", "b": ""}}),
    ("", "ConfigMap", {"data": {}, "immutable": False}, {"immutable": False}),
    ("", "Secret", {"data": {"a": None}, "type": ""}, {"data": {"a": ""}}),
    ("", "Pod", {"spec": {"hostNetwork": False, "volumes": [], "priority": 0}}, {"spec": {"priority": 0}}),
    ("", "Pod", {"spec": {"volumes": [{"emptyDir": {}}]}}, {"spec": {"volumes": [{"emptyDir": {}}]}}),
    (
        "",
        "Pod",
        {"status": {"containerStatuses": [{"ready": False, "restartCount": 0, "containerID": ""}]}},
        {"status": {"containerStatuses": [{"ready": False, "restartCount": 0}]}},
    ),
    ("apps", "Deployment", {"spec": {"replicas": 0, "minReadySeconds": 0}}, {"spec": {"replicas": 0}}),
    ("rbac.authorization.k8s.io", "Role", {"rules": []}, {"rules": None}),
    ("", "ConfigMap", {"metadata": {"managedFields": []}}, {"metadata": {"managedFields": []}}),
]


@pytest.mark.parametrize(("group", "kind", "given", "kept"), _EMPTIES)
def test_what_is_empty_stays_where_it_says_something(group: str, kind: str, given: Any, kept: Any):
    assert fit(_structure(group, kind), given) == []
    assert given == kept


def test_an_exact_instant_is_on_a_day_that_there_is():
    with pytest.raises(DecodingError, match="day out of range"):
        fit(_structure("coordination.k8s.io", "Lease"), {"spec": {"renewTime": "2026-02-31T00:00:00.000000Z"}})


@pytest.mark.parametrize(
    ("group", "kind", "given", "kept"),
    [
        ("", "ResourceQuota", {"spec": {"hard": {"cpu": "1000m"}}}, {"spec": {"hard": {"cpu": "1"}}}),
        (
            "",
            "LimitRange",
            {"spec": {"limits": [{"max": {"memory": "1024Mi"}}]}},
            {"spec": {"limits": [{"max": {"memory": "1Gi"}}]}},
        ),
        ("", "PersistentVolume", {"spec": {"capacity": {"storage": "-"}}}, {"spec": {"capacity": {"storage": "0"}}}),
        (
            "",
            "ResourceQuota",
            {"spec": {"hard": {"cpu": 0.5, "pods": "1e3"}}},
            {"spec": {"hard": {"cpu": "500m", "pods": "1e3"}}},
        ),
        (
            "",
            "ConfigMap",
            {"metadata": {"creationTimestamp": "2026-01-02T3:04:05,25Z"}},
            {"metadata": {"creationTimestamp": "2026-01-02T03:04:05Z"}},
        ),
        (
            "coordination.k8s.io",
            "Lease",
            {"spec": {"renewTime": "2026-01-02T3:04:05.000001+01:00"}},
            {"spec": {"renewTime": "2026-01-02T02:04:05.000001Z"}},
        ),
    ],
)
def test_quantities_and_instants_are_kept_as_kubernetes_writes_them(group: str, kind: str, given: Any, kept: Any):
    """Kubernetes 1.36: `Quantity.MarshalJSON`, `Time.UnmarshalJSON`, which takes an hour of one digit."""
    assert fit(_structure(group, kind), given) == []
    assert given == kept


def test_null_is_nothing_in_a_list_and_absent_elsewhere():
    manifest: dict[str, Any] = {"spec": {"nodeName": None, "containers": [None, {"args": [None]}]}}
    assert fit(_structure("", "Pod"), manifest) == []
    assert manifest == {"spec": {"containers": [{"resources": {}}, {"args": [""]}]}}


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        ({"data": {"a": 1}}, "json: cannot unmarshal number into Go struct field ConfigMap.data of type string"),
        ({"data": []}, "json: cannot unmarshal array into Go struct field ConfigMap.data of type map[string]string"),
        ({"immutable": "no"}, "json: cannot unmarshal string into Go struct field ConfigMap.immutable of type bool"),
        ({"binaryData": {"a": "***"}}, "illegal base64 data at input byte 0"),
        ({"binaryData": {"a": "aGé="}}, "illegal base64 data at input byte 2"),
        (
            {"metadata": {"labels": {"a": True}}},
            "json: cannot unmarshal bool into Go struct field ObjectMeta.metadata.labels of type string",
        ),
        *(
            ({"metadata": {"creationTimestamp": text}}, f'parsing time "{text}": day out of range')
            for text in (
                "2026-02-30T00:00:00Z",
                "2026-01-01T24:00:01Z",
                "2026-01-01T00:99:00Z",
                "0001-01-01T00:00:00+09:00",
            )
        ),
        (
            {"metadata": {"creationTimestamp": "yesterday"}},
            'parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": cannot parse "yesterday" as "2006"',
        ),
    ],
)
def test_a_wrong_type_is_told_in_the_words_of_kubernetes(manifest: Any, said: str):
    with pytest.raises(DecodingError) as refused:
        fit(_structure("", "ConfigMap"), manifest)
    assert str(refused.value) == said


def test_whole_numbers_keep_their_range():
    with pytest.raises(DecodingError, match=r"number 2147483648 into Go struct field DeploymentSpec\.spec\.replicas"):
        fit(_structure("apps", "Deployment"), {"spec": {"replicas": 2**31}})


def test_fields_that_are_always_written_are_put_in():
    pod: dict[str, Any] = {"status": {"conditions": [{"type": "Ready"}]}}
    complete(_structure("", "Pod"), pod)
    assert pod["status"]["conditions"] == [{"type": "Ready", "lastProbeTime": None, "lastTransitionTime": None}]


def test_fields_that_a_text_has_twice_are_found():
    assert duplicate_fields(b'{"a":{"b":1,"b":2},"l":[{"x":1,"x":2}]}') == ["a.b", "l[0].x"]
    assert duplicate_fields(b'{"a":1}') == []


def test_fields_that_a_yaml_text_has_twice_are_found_and_aliases_followed_once():
    assert duplicate_yaml_fields(b"a: {b: 1, b: 2}\nl: [{x: 1, x: 2}]\na: 3") == ["a.b", "l[0].x", "a"]
    assert duplicate_yaml_fields(b"a: &twice {x: 1, x: 2}\nb: *twice") == ["a.x"]
    assert duplicate_yaml_fields(b"") == []


@pytest.mark.parametrize(
    ("text", "labels", "matches"),
    [
        ("a=b,c!=d", {"a": "b"}, True),
        ("a in (b, c),!d", {"a": "c"}, True),
        ("a notin (b)", {}, True),
        ("a", {}, False),
        ("n>3", {"n": "4"}, True),
        ("in in (in)", {"in": "in"}, True),
        ("a in (,b)", {"a": ""}, True),
        ("", {}, True),
    ],
)
def test_label_selectors_mean_what_they_say(text: str, labels: dict[str, str], matches: bool):
    assert all(requirement.matches(labels) for requirement in parse_labels(text)) is matches


@pytest.mark.parametrize(("text", "said"), [("n>-1", "a valid label must be"), ("n<1.5", "must be an integer")])
def test_a_number_that_no_label_can_have_is_refused(text: str, said: str):
    with pytest.raises(ValueError, match=said):
        parse_labels(text)


def test_a_value_in_a_set_is_an_identifier():
    with pytest.raises(ValueError, match=r"found '=', expected: ',', '\)' or identifier"):
        parse_labels("a in (=)")


def test_yaml_has_short_booleans_and_quotes_them():
    assert load_yaml(b"a: y\nb: name\n") == {"a": True, "b": "name"}
    assert dump_yaml({"b": "y", "a": "true", "c": "word"}) == b'a: "true"\nb: "y"\nc: word\n'


def test_the_first_document_of_a_yaml_stream_counts():
    assert load_yaml(b"a: 1\n---\nb: 2\n") == {"a": 1}
    assert load_yaml(b"") is None
    assert load_yaml(b"[1]") == [1]


@pytest.mark.parametrize(("text", "said"), [(b"{", "did not find"), (b"a: [", "did not find expected node content")])
def test_broken_yaml_is_told_with_its_line(text: bytes, said: str):
    with pytest.raises(ValueError, match=f"yaml: line 1: .*{said}"):
        load_yaml(text)


def _node(**validations: Any) -> Any:
    item = {"type": "object", "properties": {"name": {"type": "string"}, "size": {"type": "integer", **validations}}}
    keyed = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
    return compile_schema({"type": "object", "properties": {"parts": {"type": "array", "items": item, **keyed}}})


def test_a_rule_about_a_change_compares_elements_with_the_same_key():
    node = _node(**{"x-kubernetes-validations": [{"rule": "self >= oldSelf", "message": "must not shrink"}]})
    old = {"parts": [{"name": "a", "size": 3}, {"name": "b", "size": 1}]}
    new = {"parts": [{"name": "b", "size": 2}, {"name": "a", "size": 2}, {"name": "c", "size": 0}]}
    assert [str(p) for p in check_rules(node, new, old)] == ["parts[1].size: Invalid value: 2: must not shrink"]


def test_a_rule_that_has_no_result_does_not_hold():
    node = _node(**{"x-kubernetes-validations": [{"rule": "self.nope == 1"}]})
    (problem,) = check_rules(node, {"parts": [{"name": "a", "size": 3}]})
    assert "evaluating rule: self.nope == 1" in problem.message


def test_a_rule_that_cannot_be_read_is_refused():
    with pytest.raises(Unwritable, match="Syntax error"):
        compile_program("self >")
