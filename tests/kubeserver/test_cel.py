"""Rules in CEL: Kubernetes' own functions, and what a rule may cost."""

from typing import Any

import pytest

from kubeapi.meta import Manifest
from kubeserver.cel import (
    OUT_OF_BUDGET,
    Budget,
    Exhausted,
    Unwritable,
    compile_program,
    each_matched,
    matching_of,
    nesting_of,
)
from tests.kubeserver.api_world import DEFINITIONS, WIDGETS, ApiWorld, tell, widget, widgets


def evaluate(text: str, value: Any = None) -> Any:
    return compile_program(text).evaluate({"self": value, "oldSelf": None})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("self.isSorted() && self.min() == 1 && self.max() == 3 && self.sum() == 6", [1, 2, 3]),
        ("!self.isSorted() && self.indexOf(1) == 1 && self.lastIndexOf(3) == 2 && self.indexOf(9) == -1", [3, 1, 3]),
        ("self.indexOf('b') == 1 && self.lastIndexOf('b') == 3", "abcb"),
        ("quantity('1Gi').isGreaterThan(quantity('1000M')) && quantity('1') == quantity('1000m')", None),
        ("quantity(self).add(2).sub(quantity('1')).compareTo(quantity('3')) == 0", "2"),
        ("isQuantity('1.5Gi') && !isQuantity(self) && sign(quantity('-1')) == -1", "much"),
        ("quantity('2k').asInteger() == 2000 && !quantity('500m').isInteger()", None),
        ("quantity('500m').asApproximateFloat() == 0.5 && quantity('1').isLessThan(quantity('2'))", None),
        ("isIP(self) && ip(self).family() == 6 && ip(self).isLoopback() && ip.isCanonical(self)", "::1"),
        ("!isIP('10.0.0.256') && !isIP('::ffff:10.0.0.1') && !ip.isCanonical('2001:DB8::1')", None),
        ("ip('10.0.0.1').isGlobalUnicast() && ip('224.0.0.1').isLinkLocalMulticast()", None),
        ("cidr('10.0.0.0/8').containsIP(self) && cidr('10.0.0.0/8').containsIP(ip(self))", "10.1.1.1"),
        ("cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && !cidr('10.0.0.0/8').containsCIDR('11.0.0.0/16')", None),
        ("cidr('10.0.1.5/24').masked() == cidr('10.0.1.0/24') && cidr('10.0.1.5/24').prefixLength() == 24", None),
        ("cidr('10.0.1.5/24').ip() == ip('10.0.1.5') && !isCIDR('10.0.1.5')", None),
        ("isURL(self) && url(self).getHost() == 'host:80' && url(self).getPort() == '80'", "https://host:80/p?q=1&q=2"),
        ("url(self).getScheme() == 'https' && url(self).getQuery()['q'] == ['1', '2']", "https://host:80/p?q=1&q=2"),
        ("url(self).getHostname() == '::1' && url(self).getEscapedPath() == '/a%20b'", "https://[::1]/a%20b"),
        ("!isURL('not a url')", None),
        ("!format.dns1123Label().validate(self).hasValue()", "a-label"),
        ("format.labelValue().validate(self).value().size() == 1", "no label!"),
        ("optional.of(1).hasValue()", None),
        ("string(ip('10.0.0.1')) == '10.0.0.1' && string(cidr(self)) == self", "10.0.0.0/8"),
        ("string(1) == '1' && string(true) == 'true'", None),
        ("isSemver('1.2.3-rc.1+build') && !isSemver('1.2') && !isSemver('01.2.3') && !isSemver('1.2.3-01')", None),
        ("isSemver('v1.2', true) && semver('v1.02', true) == semver('1.2.0') && !isSemver('x', true)", None),
        ("semver(self).major() == 1 && semver(self).minor() == 20 && semver(self).patch() == 3", "1.20.3-a+b"),
        ("semver('1.2.3').isLessThan(semver('1.10.0')) && semver('2.0.0').isGreaterThan(semver('2.0.0-rc.1'))", None),
        ("isSemver('9223372036854775807.0.0') && !isSemver('9223372036854775808.0.0') && !isSemver('١.0.0')", None),
        (f"!isSemver('1.0.0-{'a' * 251}') && isSemver('1.0.0-{'a' * 250}')", None),
        ("semver('1.0.0-alpha.9').compareTo(semver('1.0.0-alpha.10')) == -1", None),
        ("semver('1.0.0-1').compareTo(semver('1.0.0-a')) == -1 && semver('1.0.0+a') == semver('1.0.0+b')", None),
        (
            "sets.contains([dyn(1), dyn({'x': 1})], [dyn(1.0), dyn({'x': 1})]) && !sets.contains([1], [true])",
            None,
        ),
        ("sets.equivalent([1, 2, 2], [2, 1]) && sets.intersects([1, 2], [2, 3]) && !sets.intersects([1], [2])", None),
        (
            "format.named('uuid').value().validate(self).hasValue() == false && !format.named('x').hasValue()",
            "123e4567-e89b-12d3-a456-426614174000",
        ),
        (
            "!format.dns1123LabelPrefix().validate(self).hasValue() && format.dns1123Label().validate(self).hasValue()",
            "ab-",
        ),
        ("!format.uri().validate('https://a/b').hasValue() && format.uri().validate('a b').hasValue()", None),
        ("!format.byte().validate('aGk=').hasValue() && format.byte().validate('?').hasValue()", None),
        ("!format.date().validate('2020-01-31').hasValue() && format.date().validate('2020-13-01').hasValue()", None),
        (
            "!format.datetime().validate(self).hasValue() && format.datetime().validate('x').hasValue()",
            "2020-01-01T00:00:00Z",
        ),
        ("[1.0, 2.0].indexOf(1) == 0 && [true].indexOf(1) == -1 && [dyn(1), dyn(true)].lastIndexOf(true) == 1", None),
        ("self.find('[0-9]+') == '12' && self.find('x') == '' && self.findAll('[0-9]+') == ['12', '3']", "ab12c3"),
        ("self.findAll('(a)(?P<name>b)') == ['ab', 'ab'] && self.findAll('[(]', 1) == ['(']", "ab(ab("),
    ],
)
def test_the_functions_of_kubernetes_are_there(text: str, value: Any):
    assert evaluate(text, value) is True


@pytest.mark.parametrize(
    "text",
    [
        "semver('1').major() == 1",
        "quantity('1').isLessThan(semver('1.0.0'))",
        "sign(quantity('x')) == 0",
        "ip('x').family() == 4",
        "[].min() == 0",
        "'x'.find('(') == ''",
        "{'a': 1, 'b': 2}.transformMapEntry(k, v, {'same': k}).size() == 2",
    ],
)
def test_what_has_no_value_is_an_error(text: str):
    with pytest.raises(ValueError, match="OUT_OF_RANGE"):
        evaluate(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("self.all(k, v, k == v) && self.exists(k, v, v == 'b')", {"a": "a", "b": "b"}),
        ("self.all(index, item, item == index + 1) && self.existsOne(i, v, v == 2)", [1, 2]),
        ("self.transformList(k, v, k + v) == ['ax']", {"a": "x"}),
        ("self.transformMap(k, v, v + 1) == {'a': 2} && self.transformMap(k, v, v > 1, v) == {}", {"a": 1}),
        ("self.transformMap(k, v, v.transformMap(q, w, [w, ')'][0] + 1)) == {'a': {'b': 2}}", {"a": {"b": 1}}),
        ("self.transformMapEntry(k, v, {v: k}) == {'x': 'a'}", {"a": "x"}),
        ("self == '.transformMap(k, v, v)'", ".transformMap(k, v, v)"),
    ],
)
def test_comprehensions_may_have_two_variables(text: str, value: Any):
    assert evaluate(text, value) is True


def test_what_is_no_macro_is_named():
    with pytest.raises(Unwritable, match="transformMap"):
        compile_program("self.transformMap(k, v)")


def test_an_expression_that_invites_backtracking_takes_no_time():
    assert evaluate("self.find('(a+)+$') == ''", "a" * 5_000 + "b")


def test_a_rule_that_takes_too_many_steps_is_cut_off():
    with pytest.raises(ValueError, match="call cost exceeds limit"):
        evaluate("self.all(a, self.all(b, self.all(c, a + b + c >= 0)))", list(range(100)))


@pytest.mark.parametrize(
    ("text", "nesting"),
    [
        ("self.size() > 1", 0),
        ("self.all(x, x > 0) && self.exists(x, x > 1)", 1),
        ("self.all(x, self.exists(y, (x + y) > 0))", 2),
        ("self.contains('.all(.all(') && has(self.all)", 0),
        ("self.filter(x, x > 0).map(x, x + 1)", 1),
    ],
)
def test_the_nesting_of_comprehensions_is_read_off_a_rule(text: str, nesting: int):
    assert nesting_of(text) == nesting


@pytest.mark.parametrize(
    ("text", "weight"),
    [
        ("self.name == 'a{900}'", 1),
        ("self.name.matches('^[a-z]+$')", 1),
        ("self.name.matches('^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$')", 12),
        (r"self.ip.matches('^(?:[0-9]{1,3}\\.){3}[0-9]{1,3}$')", 15),
        ("self.text.matches('^[01]*1[01]{900}$')", 114),
        ("self.text.matches('^(([01]{900}1){30}1){30}$')", 900 * 927 // 8),
        (f"self.text.matches('{'x*' * 5_000}')", 1_250),
        ("self.text.find(self.other)", 100),
        ("matches(self.text, 'a')", 100),
        ("self.text.matches('a{99999999999}')", 12_501),
    ],
)
def test_what_a_regular_expression_makes_of_a_letter_is_read_off_a_rule(text: str, weight: int) -> None:
    assert matching_of(text) == weight


@pytest.mark.parametrize(
    ("text", "lists"),
    [
        ("self.l.all(c, c.image.matches('^a//b$'))", 1),
        ("self.l.all(c, c.env.all(e, e.name.matches(r'^\\d+$') && c.image.find('b') != ''))", 1),
        ("(self.a + self.?b.orValue([])) . all (c, c.matches('^a'))", 2),
        ("self.m.all(k, v, v.matches('^a')) && self.name.matches('^b')", 1),
        ("self.l.all(x, self.text.matches('^a'))", 0),
        ("self.l.all(x, x.matches(self.pattern))", 0),
        ("self.l.all(x, matches(x, '^a'))", 0),
        ("self.l.map(x, self.text).all(y, y.matches('^a'))", 0),
        ("[self.l.map(x, self.text)].all(y, y.all(z, z.matches('^a')))", 0),
        ("self.l.all(x, self.l.map(y, self.text).all(x, x.matches('^a')))", 0),
        ("self.l.all(x, cel.bind(x, self.text, x.matches('^a')))", 0),
        ("self.l.all(self, true) && self.l.all(x, self.text.matches('^a'))", 0),
        ("true // self.l.all(self, (\n && self.l.all(x, self.text.matches('^a'))", 0),
        ("self.l.all(x, (x + self.text).matches('^a'))", 0),
        ("self.f() . l.all(x, x.matches('^a'))", 0),
        ('self.l.all(x, x == """\'""" || self.text.matches(\'^a\'))', 0),
    ],
)
def test_a_rule_that_compares_each_member_once_is_told_from_one_that_compares_more(text: str, lists: int) -> None:
    assert each_matched(text) == lists


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("self.l.all(x, self.text.matches('^[01]*1[01]{60}$') || true)", {"l": ["0"] * 1_000, "text": "01" * 20_000}),
        ("self.l.all(x, x.matches('^[01]*1[01]{900}$') || true)", {"l": ["0"] * 9_000}),
        ("self.l.all(x, x.matches('^[01]*1[01]{900}$') || true)", {"l": ["01" * 50_000] * 5}),
    ],
)
def test_what_compares_for_more_than_a_second_is_not_asked(text: str, value: Any) -> None:
    with pytest.raises(Exhausted):
        Budget().charge(nesting_of(text), value, matching=matching_of(text), each=each_matched(text))


def test_a_budget_charges_for_members_steps_and_long_texts():
    Budget(100).charge(1, [1] * 40)
    with pytest.raises(Exhausted):
        Budget(100).charge(2, [1] * 40)
    with pytest.raises(Exhausted):
        Budget(100).charge(1, ["x" * 100] * 10)


def test_an_object_whose_rules_cost_too_much_is_refused_instead_of_holding_up_the_server():
    definition: Manifest = widgets()
    item = {
        "type": "array",
        "items": {"type": "integer"},
        "x-kubernetes-validations": [{"rule": "self.all(a, self.exists(b, a == b))"}],
    }
    for version in definition["spec"]["versions"]:
        spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
        spec["properties"] = {**spec["properties"], "tables": {"type": "array", "items": item}}

    async def story(world: ApiWorld) -> None:
        assert (await world.create(DEFINITIONS, definition)).code == 201
        assert (await world.create(WIDGETS, widget("small", size=1, tables=[[1, 2]] * 10))).code == 201
        refused = await world.create(WIDGETS, widget("large", size=1, tables=[[1] * 99] * 1000))
        assert refused.code == 422
        assert OUT_OF_BUDGET in refused.body["message"]

    tell(story)
