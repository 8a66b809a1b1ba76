"""Rules of custom kinds, from a definition to a refusal: optional old values, names, numbers, null."""

from typing import Any

import pytest

from kubeapi.meta import Manifest
from kubeserver.cel import compile_program
from tests.kubeserver.api_world import DEFINITIONS, WIDGETS, ApiWorld, tell, widget, widgets


def ruled(rule: Manifest, **properties: Any) -> Manifest:
    definition = widgets()
    for version in definition["spec"]["versions"]:
        spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
        spec["properties"] |= properties
        spec["x-kubernetes-validations"] = [rule]
    return definition


def evaluate(text: str, value: Any = None) -> Any:
    return compile_program(text).evaluate({"self": value, "oldSelf": None})


@pytest.mark.parametrize(
    "name",
    [
        "dns1123Label",
        "dns1123Subdomain",
        "dns1035Label",
        "dns1123LabelPrefix",
        "dns1123SubdomainPrefix",
        "dns1035LabelPrefix",
        "qualifiedName",
        "labelValue",
        "uri",
        "uuid",
        "byte",
        "date",
        "datetime",
    ],
)
def test_the_result_of_each_format_is_optional(name: str) -> None:
    found = f"format.{name}().validate(self)"
    assert evaluate(f"{found} == null || {found} == optional.none() || {found}.value().size() == 1", "~ ~") is True
    assert (
        evaluate(f"{found}.orValue([]).join(',') != '' && {found}.optMap(x, x.size()).orValue(0) == 1", "~ ~") is True
    )
    assert evaluate(f"format.named('{name}').value().validate(self).hasValue()", "~ ~") is True


@pytest.mark.parametrize(
    "text",
    [
        "format.dns1123Label().validate('a') == optional.none() && format.named('x') == optional.none()",
        "format.dns1123Label().validate('a')!=null",
        "!(null == format.dns1123Label().validate('A'))",
        "format.named('uuid') != null && format.dns1123Label() != null",
        "quantity('1') != null && quantity('1').add(1) != null && semver('1.0.0') != null && url('http://a') != null",
        "ip('::1') != null && cidr('::/64') != null && cidr('::/64').masked() != null && cidr('::/64').ip() != null",
        "duration('1s') != null && timestamp('2020-01-01T00:00:00Z') != null",
        "optional.none() != null && optional.of(1) != null && dyn(null) == null && self == null",
        "{'a': 1}.?a != null && [1].first() != null",
        "'.validate(1)' == '.valid' + 'ate(1)' && 'format.named()'.size() == 14",
    ],
)
def test_whatever_may_be_null_is_compared_with_null(text: str) -> None:
    assert evaluate(text) is True


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        ("https://user:pass@host:80/a%20b?q=%zz", True),
        ("/a/b", True),
        ("mailto:a@b", True),
        ("http://[fe80::1%25en0]:80/", True),
        ("https://host/a b", True),
        ("http://#%blah$#@", False),
        ("https://ho st/", False),
        ("https://host/%zz", False),
        ("https://host:port/", False),
        ("https://a b@host/", False),
        ("a/b", False),
    ],
)
def test_a_url_is_one_that_go_reads(text: str, valid: bool) -> None:
    assert evaluate("isURL(self)", text) is valid
    assert evaluate("format.uri().validate(self).hasValue()", text) is not valid


@pytest.mark.parametrize("text", ["'a' == null", "1 == null", "[1] == null", "true == null", "{'a': 1} == null"])
def test_whatever_cannot_be_null_is_not_compared_with_it(text: str) -> None:
    with pytest.raises(Exception, match="no matching overload"):
        evaluate(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("self.__namespace__ == 'a' && has(self.__namespace__) && self.?__namespace__.hasValue()", {"namespace": "a"}),
        ("!has(self.__in__) && !has(self.a.__if__)", {"a": {}}),
        ("self.x__dash__y + self.a__dot__b + self.c__slash__d == 6", {"x-y": 1, "a.b": 2, "c/d": 3}),
        ("self.__underscores__a == 1 && self.b__underscores____dash__c == 2", {"__a": 1, "b__-c": 2}),
        ("self.all(p, p.__namespace__ == 'a' && p.spec.__for__ > 1)", [{"namespace": "a", "spec": {"for": 2}}]),
        ("self == '.__namespace__' && '.x__dash__y' != self", ".__namespace__"),
        ("self.a_b == 1 && self.__a == 2 && self._x_ == 3", {"a_b": 1, "__a": 2, "_x_": 3}),
    ],
)
def test_a_field_with_a_name_that_is_no_identifier_is_escaped(text: str, value: Any) -> None:
    assert evaluate(text, value) is True


def test_a_rule_about_names_refuses_what_it_is_there_to_refuse() -> None:
    async def story(world: ApiWorld) -> None:
        rule = {"rule": "!has(self.__namespace__) || self.__namespace__ != 'kube-system'", "message": "not there"}
        assert (await world.create(DEFINITIONS, ruled(rule, namespace={"type": "string"}))).code == 201
        refused = await world.create(WIDGETS, widget("a", size=1, namespace="kube-system"))
        assert (refused.code, "not there" in refused.body["message"]) == (422, True)
        assert (await world.create(WIDGETS, widget("a", size=1, namespace="mine"))).code == 201

    tell(story)


@pytest.mark.parametrize(
    ("rule", "born", "changed"),
    [
        ("oldSelf.hasValue() || self.size == 1", {1: 201, 2: 422}, 200),
        ("!oldSelf.hasValue() || oldSelf.value().size <= self.size", {1: 201, 2: 201}, 200),
        ("oldSelf.optMap(o, o.size).orValue(0) < self.size", {1: 201, 0: 422}, 200),
        ("oldSelf.?size.orValue(0) < self.size", {1: 201}, 200),
        ("oldSelf.orValue({'size': 9}).size != 9 || self.size < 3", {1: 201, 3: 422}, 200),
        ("oldSelf == optional.none()", {1: 201}, 422),
    ],
)
def test_an_old_value_may_be_optional(rule: str, born: dict[int, int], changed: int) -> None:
    async def story(world: ApiWorld) -> None:
        said = {"rule": rule, "optionalOldSelf": True, "messageExpression": "'was ' + string(oldSelf.hasValue())"}
        assert (await world.create(DEFINITIONS, ruled(said))).code == 201
        for size, code in born.items():
            answer = await world.create(WIDGETS, widget(f"w{size}", size=size))
            assert answer.code == code
            assert code == 201 or "was false" in answer.body["message"] or size == 0
        answer = await world.patch(f"{WIDGETS}/w1", {"spec": {"size": 5}})
        assert answer.code == changed
        assert changed == 200 or "was true" in answer.body["message"]

    tell(story)


def test_a_number_of_the_schema_is_a_double_whatever_was_sent() -> None:
    async def story(world: ApiWorld) -> None:
        numbers = {"type": "array", "items": {"type": "number"}}
        properties = {"weight": {"type": "number"}, "weights": numbers}
        rule = {"rule": "self.weight * 2.0 <= 3.0 && self.weights.all(w, w / 2.0 < 1.0) && self.size + 1 > 1"}
        assert (await world.create(DEFINITIONS, ruled(rule, **properties))).code == 201
        made = await world.create(WIDGETS, widget("a", size=1, weight=1, weights=[1, 0.5]))
        assert (made.code, made.body["spec"]["weight"]) == (201, 1)
        assert (await world.create(WIDGETS, widget("b", size=1, weight=2, weights=[]))).code == 422

    tell(story)


def test_a_rule_with_an_optional_result_refuses_and_does_not_break_the_server() -> None:
    async def story(world: ApiWorld) -> None:
        assert (await world.create(DEFINITIONS, ruled({"rule": "self.?size"}))).code == 201
        assert (await world.create(WIDGETS, widget("a", size=1))).code == 422

    tell(story)
