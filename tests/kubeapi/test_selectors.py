"""Selectors: their meaning, and their text form."""

import pytest

from kubeapi.meta import LabelSelector, LabelSelectorRequirement
from kubeapi.selectors import Requirement, matches, parse_selector, selector_of

LABELS = {"app": "nginx", "tier": "front", "size": "5"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "app=nginx",
        "app==nginx",
        "app = nginx , tier=front",
        "app!=apache",
        "missing!=x",
        "app in (nginx,apache)",
        "app in ( nginx , apache )",
        "tier notin (back)",
        "missing notin (back)",
        "app",
        "!missing",
        "size>4",
        "size<6,app",
    ],
)
def test_selectors_that_match(text: str) -> None:
    assert matches(parse_selector(text), LABELS)


@pytest.mark.parametrize(
    "text",
    [
        "app=apache",
        "app!=nginx",
        "missing=x",
        "app notin (nginx)",
        "missing in (x)",
        "missing",
        "!app",
        "size>5",
        "app>1",
    ],
)
def test_selectors_that_do_not_match(text: str) -> None:
    assert not matches(parse_selector(text), LABELS)


def test_keys_may_have_a_prefix() -> None:
    assert parse_selector("example.com/a=b") == (Requirement("example.com/a", "In", ("b",)),)


@pytest.mark.parametrize("text", ["=x", "a=b=c", "a in x", "app in (a", "a b", ",", "n>-1", "a=b c", f"a={'b' * 64}"])
def test_what_is_no_selector_is_quoted_in_the_error(text: str) -> None:
    with pytest.raises(ValueError, match="unable to parse requirement"):
        parse_selector(text)


def test_no_label_selector_matches_everything() -> None:
    assert matches(selector_of(None), LABELS)
    assert matches(selector_of(LabelSelector()), {})


def test_labels_and_expressions_must_all_match() -> None:
    expression = LabelSelectorRequirement(key="tier", operator="In", values=("front",))
    selector = selector_of(LabelSelector(match_labels={"app": "nginx"}, match_expressions=(expression,)))
    assert matches(selector, LABELS)
    assert not matches(selector, LABELS | {"tier": "back"})


@pytest.mark.parametrize(
    ("operator", "values"), [("In", ()), ("NotIn", ()), ("Exists", ("x",)), ("DoesNotExist", ("x",)), ("Gt", ("1",))]
)
def test_an_invalid_expression_matches_nothing(operator: str, values: tuple[str, ...]) -> None:
    expression = LabelSelectorRequirement(key="app", operator=operator, values=values)
    selector = selector_of(LabelSelector(match_expressions=(expression,)))
    assert not matches(selector, LABELS)
    assert not matches(selector, {})
