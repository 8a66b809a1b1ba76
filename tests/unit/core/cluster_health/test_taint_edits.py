"""Taints by hand in kubectl's syntax."""

import pytest

from kubeapi.core import Taint
from leeward.core.cluster_health.taint_edits import TaintProblem, describe_edits, edit_taints, parse_taint_edits

OLD = (Taint("a", "NoSchedule", "1"), Taint("a", "NoExecute"), Taint("b", "NoSchedule"))


def edited(*texts: str, overwrite: bool = False) -> list[str]:
    return [str(taint) for taint in edit_taints(OLD, parse_taint_edits(texts), overwrite=overwrite)]


@pytest.mark.parametrize(
    ("texts", "result"),
    [
        (("c=x:NoExecute",), ["a=1:NoSchedule", "a:NoExecute", "b:NoSchedule", "c=x:NoExecute"]),
        (("c:NoSchedule",), ["a=1:NoSchedule", "a:NoExecute", "b:NoSchedule", "c:NoSchedule"]),
        (("a-",), ["b:NoSchedule"]),
        (("a:NoExecute-",), ["a=1:NoSchedule", "b:NoSchedule"]),
        (("a=1:NoSchedule-", "b-", "c:NoExecute"), ["a:NoExecute", "c:NoExecute"]),
        (("example.com/x=y.z:NoSchedule", "a-"), ["b:NoSchedule", "example.com/x=y.z:NoSchedule"]),
    ],
)
def test_taints_are_added_and_removed(texts: tuple[str, ...], result: list[str]) -> None:
    assert edited(*texts) == result


def test_another_value_needs_overwrite() -> None:
    with pytest.raises(TaintProblem, match="has the taint a:NoSchedule already: add --overwrite"):
        edited("a=2:NoSchedule")
    assert edited("a=2:NoSchedule", overwrite=True) == ["a:NoExecute", "b:NoSchedule", "a=2:NoSchedule"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is no taint"),
        ("a", "has no effect"),
        ("=v:NoExecute", "is no taint"),
        ("a=b", "is no taint"),
        ("a=b=c:NoExecute", "is no taint"),
        ("a:b:NoExecute", "is no taint"),
        ("a:Never", "the effect 'Never' is none of NoSchedule, NoExecute"),
        ("a:", "the effect '' is none of"),
        ("-", "is no taint"),
    ],
)
def test_what_is_no_taint_is_refused(text: str, problem: str) -> None:
    with pytest.raises(TaintProblem, match=problem):
        parse_taint_edits([text])


def test_one_taint_cannot_be_named_twice() -> None:
    with pytest.raises(TaintProblem, match="a:NoExecute: named more than once"):
        parse_taint_edits(["a=1:NoExecute", "a:NoExecute-"])


def test_a_taint_that_is_not_there_cannot_be_removed() -> None:
    with pytest.raises(TaintProblem, match='taint "c:NoExecute" not found'):
        edited("c:NoExecute-")


@pytest.mark.parametrize(
    ("texts", "said"), [(("a:NoExecute",), "tainted"), (("a-",), "untainted"), (("a-", "b:NoExecute"), "modified")]
)
def test_it_is_said_what_was_done(texts: tuple[str, ...], said: str) -> None:
    assert describe_edits(parse_taint_edits(texts)) == said


def test_what_is_named_twice_is_told_with_all_its_names() -> None:
    with pytest.raises(TaintProblem) as told:
        parse_taint_edits(["a:NoExecute", "a:NoExecute-", "b-", "b-"])
    assert str(told.value) == "a:NoExecute, b: named more than once; one command can add or remove it, not both"


def test_a_taint_gets_no_other_value_unless_that_is_asked_for() -> None:
    with pytest.raises(TaintProblem) as told:
        edit_taints((Taint("a", "NoExecute", "1"),), parse_taint_edits(["a=2:NoExecute"]))
    assert str(told.value) == "the cluster has the taint a:NoExecute already: add --overwrite to give it another value"
    with pytest.raises(TaintProblem) as told:
        edit_taints((), parse_taint_edits(["a-"]))
    assert str(told.value) == 'taint "a" not found'
