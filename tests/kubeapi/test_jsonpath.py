"""JSONPath as kubectl speaks it."""

from typing import Any

import pytest

from kubeapi.jsonpath import JSONPathError, PathTooLarge, compile_path, compile_template

STATUS: dict[str, Any] = {
    "jobStatus": {"job-id": "abc", "state": "RUNNING"},
    "count": 3,
    "ratio": 1.5,
    "done": True,
    "a.b": "dotted",
    "labels": {"example.com/name": "slashed"},
    "conditions": [
        {"type": "Ready", "status": "True", "weight": 2},
        {"type": "Synced", "status": "False", "weight": 5},
        {"type": "Paused"},
    ],
}


@pytest.mark.parametrize(
    ("template", "printed"),
    [
        ("{.jobStatus.job-id}", "abc"),
        ("{$.jobStatus.state}", "RUNNING"),
        ("{.jobStatus['job-id']}", "abc"),
        ("{['jobStatus']['job-id', 'state']}", "abc RUNNING"),
        ("{.a\\.b}", "dotted"),
        ("{.labels.example\\.com/name}", "slashed"),
        ("{.count} of {.ratio}", "3 of 1.5"),
        ("{.conditions[].type}", "Ready"),
        ("{.done}", "true"),
        (".jobStatus.state", ".jobStatus.state"),
        ('{.count}{"\\n"}', "3\n"),
        ("{.conditions[*].type}", "Ready Synced Paused"),
        ("{.conditions[-1].type}", "Paused"),
        ("{.conditions[0:2].type}", "Ready Synced"),
        ("{.conditions[0,2].type}", "Ready Paused"),
        ('{.conditions[?(@.type=="Synced")].status}', "False"),
        ("{.conditions[?(@.weight>2)].type}", "Synced"),
        ("{.conditions[?(@.status)].type}", "Ready Synced"),
        ("{.conditions[?(@.type!='Ready')].type}", "Synced Paused"),
        ("{..status}", "True False"),
        ("{.jobStatus}", '{"job-id":"abc","state":"RUNNING"}'),
        ("", ""),
    ],
)
def test_a_template_prints_what_its_paths_find(template: str, printed: str) -> None:
    assert compile_template(template)(STATUS) == printed


@pytest.mark.parametrize(
    ("template", "says"),
    [
        ("{.missing}", "missing is not found"),
        ("{.count.deeper}", "deeper is not found"),
        ("{.conditions[*].status}", "status is not found"),
        ("{.conditions[7]}", "the list has 3 items"),
        ("{.jobStatus[0]}", "it is no list"),
    ],
)
def test_what_is_missing_is_an_error(template: str, says: str) -> None:
    render = compile_template(template)
    with pytest.raises(JSONPathError, match=says):
        render(STATUS)


@pytest.mark.parametrize(
    ("template", "says"),
    [
        ("{.bad", "is not closed"),
        ("{range .items[*]}{.a}{end}", "range is not supported"),
        ("{.a[b]}", "put names in quotes"),
        ("{.a[?(type)]}", "cannot read the filter"),
        ("{.a b}", "cannot read the path"),
    ],
)
def test_what_is_no_path_is_refused_with_the_place(template: str, says: str) -> None:
    with pytest.raises(JSONPathError, match=says):
        compile_template(template)


WIDE: dict[str, Any] = {
    "grid": [[[index] * 4] * 11 for index in range(11)],
    "items": [{"name": f"pod-{index}", "parts": [index] * 15} for index in range(1_000)],
}


@pytest.mark.parametrize(
    ("path", "count"),
    [
        (".items[*].name", 1_000),
        ('.items[?(@.name=="pod-7")].name', 1),
        ("..name", 1_000),
        (".items[*,*].name", None),
        (".items[*,0].name", None),
        (".items[0][*,*]", 4),
        (".grid[*][*][*]", 484),
        (f".grid[{','.join('*' * 64)}][{','.join('*' * 64)}]", None),
        ("..*..*", None),
        ("..missing..missing", 0),
        ("[*,*,*][?(@..missing)]", None),
    ],
)
def test_an_evaluation_has_a_bound(path: str, count: int | None) -> None:
    find = compile_path(path, allow_missing=True)
    if count is not None:
        assert len(find(WIDE)) == count
        return
    with pytest.raises(PathTooLarge, match=r"more than \d+ values"):
        find(WIDE)


def test_all_actions_of_a_template_share_the_bound() -> None:
    assert compile_template("{.items[*].name}" * 5)(WIDE).startswith("pod-0 pod-1 ")
    with pytest.raises(PathTooLarge, match="looks at more than 20000 values"):
        compile_template("{.items[*].name}" * 11)(WIDE)
    with pytest.raises(PathTooLarge, match="prints more than 4194304 characters"):
        compile_template("{.a}" * 5)({"a": "x" * 1_000_000})


def test_a_union_has_a_bound_of_keys() -> None:
    assert compile_path(f"[{','.join('*' * 64)}]")([1]) == [1] * 64
    with pytest.raises(JSONPathError, match="brackets with 65 keys: there may be at most 64"):
        compile_path(f"[{','.join('*' * 65)}]")
