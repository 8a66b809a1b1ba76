"""JSONPath as kubectl speaks it."""

from typing import Any

import pytest

from kubeapi.jsonpath import JSONPathError, compile_template

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
