"""Optional values of CEL stay in the library: an expression that hands one to a function in Python is refused.

Nothing is evaluated here but what is fine: `size`, a function of the library, stands for the ones in Python.
"""

import pytest

from kubeserver.cel import Unwritable, compile_program
from kubeserver.cel.library import checked
from kubeserver.cel.optionals import LOST, NESTED, misplaced_optional
from tests.kubeserver.api_world import DEFINITIONS, ApiWorld, tell
from tests.kubeserver.test_custom_rules import ruled
from tests.kubeserver.test_policies import POLICIES, policy

GIVEN = "found no matching overload for 'size' applied to an optional value"
VARIABLES = ("self", "oldSelf")


def fault(text: str) -> str | None:
    return misplaced_optional(checked(text, VARIABLES).serialize(), {"size"})


@pytest.mark.parametrize(
    "text",
    [
        "[self.?a].size() == 1",
        "{'a': self.?a}.size() == 1",
        "[[1], [2]].map(l, l.first()).size() == 2",
        "[optional.none()].filter(o, o.hasValue()).size() == 0",
        "self.a.map(v, [optional.of(v)].size()).size() == 1",
    ],
)
def test_a_function_in_python_gets_no_optional_value(text: str) -> None:
    assert fault(text) == GIVEN


@pytest.mark.parametrize(
    "text",
    [
        "dyn(self.?a)",
        "dyn([self.?a])",
        "[self[?0]]",
        "[self.?a, self.b]",
        "{'a': self[?'a'], 'b': 1}",
        "self.b ? self.?a : self.b",
        "self.a.map(v, v[?0])",
        "self.map(v, self.?a)",
        "[[self.?a]].flatten()",
        "self.a.transformList(i, v, self[?i])",
        "self[?0].sortBy(v, v)",
        "[self.?a]",
        "{'a': optional.of(1)}",
        "[dyn(self.?a)].size() == 1",
        "self.a.exists(v, dyn(v[?0]).size() == 1)",
    ],
)
def test_an_optional_value_does_not_lose_its_type(text: str) -> None:
    assert fault(text) == LOST


@pytest.mark.parametrize(
    "text", ["optional.of(self.?a)", "optional.of(self[?0])", "[self.?a].first()", "self.?a.optMap(v, v[?0])"]
)
def test_an_optional_value_holds_none(text: str) -> None:
    assert fault(text) in (NESTED, LOST)


@pytest.mark.parametrize(
    "text",
    [
        "self.?a.orValue([]).size() == 2",
        "self[?'a'].orValue([]).size() == 2",
        "[self.?a, self.?b].exists(o, o.hasValue())",
        "[self.?a, self.?b].unwrapOpt().size() == 1",
        "self.?a.optMap(v, v.size()).orValue(0) == 2",
        "self.?a.optFlatMap(v, v[?0]).orValue(0) == 1",
        "self.?b.or(self[?'a']).value().size() == 2",
        "(has(self.b) ? self[?'b'] : self[?'a']).value().size() == 2",
        "[?self.?b, ?self.?a, self.a].size() == 2",
        "{?'a': self.?a, ?'b': self.?b, 'c': 1}.size() == 2",
        "{'a': self.?a}.a.value().size() == 2",
        "self == optional.of(1) || self.a.size() == 2",
        "[[1, 2], []].map(l, l.first().orValue(3)).size() == 2",
    ],
)
def test_an_optional_value_may_be_asked(text: str) -> None:
    assert fault(text) is None
    assert compile_program(text).evaluate({"self": {"a": [1, 2]}, "oldSelf": None}) is True


def test_expressions_of_all_users_are_asked_before_they_are_evaluated() -> None:
    with pytest.raises(Unwritable, match="an optional value"):
        compile_program("string(dyn(self.?a))")

    async def story(world: ApiWorld) -> None:
        for rule in (
            {"rule": "string(dyn(self.?size)) == ''"},
            {"rule": "true", "messageExpression": "dyn([self.?size])"},
        ):
            refused = await world.create(DEFINITIONS, ruled(rule))
            assert (refused.code, "an optional value" in refused.body["message"]) == (422, True)
        refused = await world.create(POLICIES, policy({"expression": "string(dyn(object.?kind)) == ''"}))
        assert (refused.code, "an optional value" in refused.body["message"]) == (422, True)

    tell(story)


def test_what_cannot_be_read_is_refused() -> None:
    with pytest.raises(ValueError, match="not a checked expression"):
        misplaced_optional(b"", {"size"})
