"""Costs that one definition of a kind may have, and its expressions with each write.

The attacker may make CustomResourceDefinitions, or only objects of a kind that somebody else has defined.

They write regular expressions that backtrack, that are huge when they are compiled, or many of them; rules in CEL that
look at everything again and again, or thousands of rules.

They must not get: the server to themselves. Whatever is refused says with which field, and how to go on.
"""

from collections.abc import Iterable, Iterator
from random import Random
from unittest import mock

import pytest

from kubeapi.meta import Manifest
from kubeserver.apiextensions import checks
from kubeserver.apiextensions.definition_rules import bounds as definition_bounds
from kubeserver.apiextensions.definition_rules.bounds import (
    MOST_LARGE_PATTERNS,
    MOST_PATTERNS,
    MOST_RULE_LETTERS,
    MOST_RULES,
)
from kubeserver.apiextensions.patterns import MATCH_BUDGET, REMEMBERED_LARGE_PATTERNS, MatchBudget, compile_pattern
from kubeserver.cel.budget import Budget, Exhausted
from tests.kubeserver.api_world import DEFINITIONS, WIDGETS, ApiWorld, tell, widget
from tests.security.worlds import define


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b$", "(a|aa)+$", "(.*a){20}$", "^(([a-z])+.)+[A-Z]([a-z])+$"])
def test_a_regular_expression_that_backtracks_is_answered_in_one_go(pattern: str) -> None:
    """An engine that backtracks would not end this test."""

    async def story(world: ApiWorld) -> None:
        assert (await define(world, {"text": {"type": "string", "pattern": pattern}})).code == 201
        refused = await world.create(WIDGETS, widget("a", text="a" * 200_000 + "!"))
        assert refused.code == 422

    tell(story)


SLOW = "^[01]*1[01]{900}[01]{900}$"
"""Expression all of whose states are looked at for each letter: 200,000 letters take a second and a half."""
STRING = {"type": "string", "pattern": SLOW}
NOISE = "".join(str(digit) for digit in Random(1).choices((0, 1), k=200_000))


@pytest.mark.parametrize(
    ("schema", "spec"),
    [
        ({"text": STRING}, {"text": NOISE}),
        ({f"t{n}": STRING for n in range(40)}, {f"t{n}": NOISE[:6_000] for n in range(40)}),
        ({"text": {"type": "array", "items": STRING}}, {"text": [NOISE[n : n + 6_000] for n in range(40)]}),
        ({"text": {"type": "string", "anyOf": [{"pattern": SLOW}, {"pattern": "^x"}]}}, {"text": NOISE}),
        ({"text": {"type": "string", "not": {"pattern": SLOW}}}, {"text": NOISE}),
        ({"text": {"type": "string", "pattern": r"(?i)(\pL{1,80}){1,5}y$"}}, {"text": "ä" * 2_000}),
    ],
    ids=["one", "many", "items", "any", "not", "large"],
)
def test_a_text_is_compared_with_a_pattern_within_a_budget_of_the_write(schema: Manifest, spec: Manifest) -> None:
    """Refused, twice, since nothing of it is remembered as sound; what is shorter is taken."""

    async def story(world: ApiWorld) -> None:
        assert (await define(world, schema)).code == 201
        with mock.patch.object(checks, "MatchBudget", CountedBudget):
            CountedBudget.charged = 0
            for _ in range(2):
                refused = await world.create(WIDGETS, widget("a", **spec))
                assert (refused.code, "patterns with fewer repetitions" in refused.body["message"]) == (422, True)
            assert CountedBudget.charged <= 2 * MATCH_BUDGET
        answered = await world.create(WIDGETS, widget("b", **{name: text[:1] for name, text in spec.items()}))
        assert "fewer repetitions" not in answered.body.get("message", "")

    tell(story)


def test_a_rule_that_matches_pays_for_the_states_of_its_expression() -> None:
    """Ten rules over a text of a megabyte took most of a minute."""
    rules = [f"self.text.matches('^[01]*1[01]{{{900 + number}}}$')" for number in range(10)]

    async def story(world: ApiWorld) -> None:
        assert (await define(world, {"text": {"type": "string"}}, *rules)).code == 201
        refused = await world.create(WIDGETS, widget("a", text=NOISE * 5))
        assert (refused.code, "running out of cost budget" in refused.body["message"]) == (422, True)
        refused = await world.create(WIDGETS, widget("b", text=NOISE[:200]))
        assert (refused.code, "running out of cost budget" in refused.body["message"]) == (422, False)

    tell(story)


class CountedBudget(MatchBudget):
    """Counts what was compared: bytes of text times instructions of their patterns."""

    charged = 0

    def charge(self, pattern: str, text: str, path: str) -> bool:
        may = super().charge(pattern, text, path)
        CountedBudget.charged += len(text.encode()) * compile_pattern(pattern).size if may else 0
        return may


def test_long_texts_of_ordinary_patterns_are_taken() -> None:
    """Such as a bundle of certificates, a document, a list of names."""
    ordinary = {
        "bundle": (r"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$", "QUJD" * 250_000),
        "document": (r"^\S+$", "ä" * 100_000),
        "label": (r"^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$", "a" * 63),
        "value": (r"^\w{1,200}$", "a" * 200),
    }

    async def story(world: ApiWorld) -> None:
        schema = {name: {"type": "string", "pattern": pattern} for name, (pattern, _) in ordinary.items()}
        assert (await define(world, schema)).code == 201
        assert (await world.create(WIDGETS, widget("a", **{n: text for n, (_, text) in ordinary.items()}))).code == 201

    tell(story)


@pytest.mark.parametrize("pattern", ["a{1000}{1000}{1000}", "(?=a)b", r"(a)\1", "(" * 5_000 + ")" * 5_000])
def test_a_regular_expression_that_is_too_large_or_none_is_refused_with_its_field(pattern: str) -> None:
    async def story(world: ApiWorld) -> None:
        refused = await define(world, {"text": {"type": "string", "pattern": pattern}})
        assert refused.code == 422
        assert "properties[text].pattern" in refused.body["message"]
        assert "not too large" in refused.body["message"]

    tell(story)


def large_pattern(end: str) -> str:
    """Half a MiB when it is compiled."""
    return rf"^(?:\pL{{0,9}}{end}){{1,3}}$"


def properties_with(patterns: Iterable[str]) -> Manifest:
    """Some of the fields are called as keywords are."""
    names = ("default", "enum", "example", "pattern", "properties")
    fields = {
        names[number] if number < len(names) else f"f{number}": {"type": "string", "pattern": pattern}
        for number, pattern in enumerate(patterns)
    }
    return {"deep": {"type": "array", "items": {"type": "object", "properties": fields}}}


@pytest.mark.parametrize(
    ("patterns", "said"),
    [
        ([f"^a{number}$" for number in range(MOST_PATTERNS + 1)], f"at most {MOST_PATTERNS} distinct patterns"),
        (
            [large_pattern(f"x{number}") for number in range(MOST_LARGE_PATTERNS + 1)],
            f"at most {MOST_LARGE_PATTERNS} patterns that are large",
        ),
    ],
    ids=["many", "large"],
)
def test_a_definition_has_so_many_patterns_and_few_large_ones(patterns: list[str], said: str) -> None:
    """Each large one takes 100 ms to compile, and all of them are, whenever the definition is written."""

    async def story(world: ApiWorld) -> None:
        refused = await define(world, properties_with(patterns))
        assert refused.code == 422
        assert said in refused.body["message"]
        assert "spec.versions: Too many" in refused.body["message"]
        assert "make several definitions of it" in refused.body["message"]
        assert (await define(world, properties_with([*patterns[:-1], patterns[0]]))).code == 201, "distinct ones count"

    tell(story)


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ([f"self.a != {number}" for number in range(MOST_RULES + 1)], f"at most {MOST_RULES} distinct expressions"),
        (
            [f"self.a != {number} || {'true || ' * 1_200}false" for number in range(30)],
            f"at most {MOST_RULE_LETTERS} letters in expressions",
        ),
    ],
    ids=["many", "long"],
)
def test_a_definition_has_so_many_rules(rules: list[str], said: str) -> None:
    async def story(world: ApiWorld) -> None:
        refused = await define(world, {"a": {"type": "integer"}}, *rules)
        assert refused.code == 422
        assert said in refused.body["message"]
        assert (await define(world, {"a": {"type": "integer"}}, *rules[:20])).code == 201

    tell(story)


def test_a_definition_that_was_stored_with_more_is_changed_otherwise_and_made_smaller() -> None:
    async def story(world: ApiWorld) -> None:
        patterns = [f"^a{number}$" for number in range(12)]
        assert (await define(world, properties_with(patterns[:10]))).code == 201
        path = f"{DEFINITIONS}/widgets.example.com"
        with mock.patch.object(definition_bounds, "MOST_PATTERNS", 5):
            assert (await world.patch(path, {"metadata": {"labels": {"a": "b"}}})).code == 200
            stored = (await world.get(path)).body

            def having(patterns: list[str]) -> Manifest:
                inner = {"type": "object", "properties": properties_with(patterns)}
                schema = {"type": "object", "properties": {"spec": inner}}
                version = {**stored["spec"]["versions"][0], "schema": {"openAPIV3Schema": schema}}
                return {**stored, "spec": {**stored["spec"], "versions": [version]}}

            assert (await world.update(path, having(patterns))).code == 422
            assert (await world.update(path, having(patterns[:9]))).code == 200

    tell(story)


def test_of_large_patterns_few_are_remembered_and_all_of_them_work() -> None:
    """A thousand of eight MiB each would take all memory."""
    first = large_pattern("x")
    kept = compile_pattern(first)
    assert compile_pattern(first) is kept
    for number in range(REMEMBERED_LARGE_PATTERNS):
        pattern = compile_pattern(large_pattern(f"y{number}y"))
        assert (pattern.matches(f"aby{number}y"), pattern.matches("ab")) == (True, False)
    assert compile_pattern(first) is not kept


def test_rules_that_look_at_everything_many_times_run_out_of_their_budget() -> None:
    async def story(world: ApiWorld) -> None:
        nested = "self.l.all(a, self.l.all(b, self.l.all(c, a != b + c)))"
        cheap = "size(self.l) >= 0"
        assert (
            await define(world, {"l": {"type": "array", "items": {"type": "string"}}}, nested, *[cheap] * 400)
        ).code == 201
        small = await world.create(WIDGETS, widget("a", l=["x", "y"]))
        assert small.code == 201
        refused = await world.create(WIDGETS, widget("b", l=[f"{number}" for number in range(20_000)]))
        assert refused.code == 422
        assert "call cost exceeds limit" in refused.body["message"]
        assert "validation failed due to running out of cost budget" in refused.body["message"]

    tell(story)


class Counted(list[str]):
    """A list that knows how often it was walked along."""

    walks = 0

    def __iter__(self) -> Iterator[str]:
        self.walks += 1
        return super().__iter__()


def test_what_all_rules_of_a_place_look_at_is_measured_once() -> None:
    value, budget = Counted(["x"] * 1_000), Budget(100_000)
    for _ in range(99):
        budget.charge(0, value)
    with pytest.raises(Exhausted):
        budget.charge(0, value)
    assert value.walks == 1
