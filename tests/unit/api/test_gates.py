"""Gates as they are written in annotations: what each means, and what is refused with its field."""

import re

import pytest

from kubeapi.codec import render_yaml
from leeward.api.failback import OptionFault
from leeward.api.gates import MOST_GATES, ReplacementGate, parse_condition, parse_gates, parse_path
from leeward.api.names import WAIT_FOR_ANNOTATION

RESTORE = {"apiVersion": "velero.io/v1", "kind": "Restore", "for": "jsonpath={.status.phase}=Completed"}
VALUES = {"cluster": "member2", "name": "db", "namespace": "shop", "kind": "StatefulSet"}


def parsed(gates: object) -> tuple[ReplacementGate, ...]:
    return parse_gates(WAIT_FOR_ANNOTATION, {WAIT_FOR_ANNOTATION: render_yaml(gates)})


def test_a_gate_names_the_application_s_own_object_by_default() -> None:
    (gate,) = parsed(RESTORE)
    named = gate.in_cluster(VALUES)
    assert (named.namespace, named.name, named.is_in_target, named.tell_after_seconds) == ("shop", "db", True, 300)
    assert parse_gates(WAIT_FOR_ANNOTATION, {}) == ()


def test_variables_stand_for_cluster_and_application() -> None:
    (gate,) = parsed({**RESTORE, "name": "$(name)-to-$(cluster)", "namespace": "$(namespace)-$(kind)"})
    assert gate.in_cluster(VALUES).name == "db-to-member2"
    assert gate.in_cluster(VALUES).namespace == "shop-StatefulSet"


def test_several_gates_are_a_list() -> None:
    found = parsed([RESTORE, {"webhook": "https://gates.example.com/db", "tellAfter": "1h"}])
    assert [each.webhook for each in found] == ["", "https://gates.example.com/db"]
    assert found[1].tell_after_seconds == 3600
    assert not found[1].is_in_target


@pytest.mark.parametrize(
    ("expression", "condition", "path"),
    [
        ("condition=Ready", ("Ready", "True"), None),
        ("condition=Ready=Unknown", ("Ready", "Unknown"), None),
        ("condition=leeward.dev/X=false", ("leeward.dev/X", "false"), None),
        ("jsonpath={.status.state}=Primary", None, ("{.status.state}", "Primary")),
        ("jsonpath='{.status.state}'=a=b", None, ("{.status.state}", "a=b")),
        ("jsonpath={.status.latestImage.name}", None, ("{.status.latestImage.name}", None)),
        ("create", None, None),
    ],
)
def test_an_expression_is_that_of_kubectl_wait(
    expression: str, condition: tuple[str, str] | None, path: tuple[str, str | None] | None
) -> None:
    assert (parse_condition(expression), parse_path(expression)) == (condition, path)
    assert parsed({**RESTORE, "for": expression})[0].expression == expression


@pytest.mark.parametrize(
    ("gates", "fault"),
    [
        ("text", "must be a mapping"),
        ([], "must be a mapping"),
        ([RESTORE] * (MOST_GATES + 1), "must have at most 8 gates"),
        ({**RESTORE, "status": "x"}, "status: no such field"),
        ({**RESTORE, "name": 3}, "name: must be a text"),
        ({**RESTORE, "apiVersion": "a/b/c"}, "apiVersion: name it"),
        ({"kind": "Restore", "for": "create"}, "apiVersion: name it"),
        ({**RESTORE, "kind": ""}, "kind: must be a text"),
        ({"apiVersion": "v1", "kind": "Secret", "for": "create"}, "kind: a Secret is not looked at"),
        ({**RESTORE, "in": "Hub"}, "in: must be Target or ControlPlane"),
        ({**RESTORE, "for": "jsonpath={.a[}"}, "for: "),
        ({**RESTORE, "for": "delete"}, "for: must be condition=TYPE"),
        ({**RESTORE, "tellAfter": "10"}, "must be a duration"),
        ({"webhook": "https://x.example", "kind": "Restore"}, "kind: no such field"),
        ({"webhook": "http://x.example"}, "webhook: must be https://"),
        ({"webhook": "https://[fe80::1]/"}, "webhook: fe80::1 is link-local"),
        ({"webhook": "https://x.example", "caBundle": "!"}, "illegal base64"),
    ],
)
def test_a_gate_that_makes_no_sense_is_told_with_its_field(gates: object, fault: str) -> None:
    with pytest.raises(OptionFault, match=re.escape("leeward.dev/wait-for: ")) as refused:
        parsed(gates)
    assert fault in str(refused.value)


@pytest.mark.parametrize("text", ["a: [", "x" * 9000, "&a [*a]"])
def test_a_text_that_is_no_yaml_or_too_long_is_refused(text: str) -> None:
    with pytest.raises(OptionFault):
        parse_gates(WAIT_FOR_ANNOTATION, {WAIT_FOR_ANNOTATION: text})
