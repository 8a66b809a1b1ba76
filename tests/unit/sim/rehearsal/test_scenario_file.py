"""The file of a scenario: what is accepted, and what a wrong one is told, with its line."""

import pytest

from leeward.sim.rehearsal.scenario_file import ScenarioProblem, parse_scenario

HEAD = "apiVersion: leeward.dev/v1alpha1\nkind: Rehearsal\n"
STEPS = "  steps:\n  - {at: 0s, fail: [a]}\n"


def scenario(text: str):
    return parse_scenario(f"{HEAD}{text}".encode())


def test_steps_and_expectations_are_read() -> None:
    found = scenario(
        """
spec:
  duration: 1h
  steps:
  - {at: +90s, fail: [a, region=eu]}
  - {at: 20m, slow: {clusters: [b], by: 2s}}
  - {at: 30m, return: [a]}
  expect:
  - {recoveredWithin: 12m, applications: [deploy/web]}
  - {placedOn: {b: 3}}
  - {placedOn: [b]}
"""
    ).spec
    assert (found.seconds, [step.at_seconds for step in found.steps]) == (3600, [90, 1200, 1800])
    assert [step.action for step in found.steps] == ["fail", "slow", "return_"]
    assert [each.claim for each in found.expect] == ["recovered_within", "placed_on", "placed_on"]
    assert (found.expect[0].within_seconds, found.expect[1].placed_on, found.expect[2].placed_on) == (
        720,
        {"b": 3},
        ("b",),
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("spec: [", "not valid YAML"),
        ("---\nkind: Rehearsal\n", "it has 2 documents: write one Rehearsal"),
        ("", "missing required field `spec`"),
        ("status: {}\nspec:\n" + STEPS, "line 3: status: there is no field 'status'; choose from apiVersion, kind"),
        ("spec:\n  steps: []\n", "line 4: spec.steps: Expected `array` of length >= 1"),
        ("spec:\n  time: 5m\n" + STEPS, "line 4: spec.time: there is no field 'time'; choose from steps, duration"),
        (
            "spec:\n  steps:\n  - at: 0s\n    kill: [a]\n",
            "line 6: spec.steps[0].kill: there is no field 'kill'; choose from at, fail, return",
        ),
        (
            "spec:\n  steps:\n  - at: 0s\n    fail: a\n",
            "line 6: spec.steps[0].fail: Expected `array | null`, got `str`",
        ),
        ("spec:\n  steps:\n  - at: 0s\n", "line 5: spec.steps[0]: it has no action: give one of fail, return"),
        (
            "spec:\n  steps:\n  - fail: [a]\n    drain: [b]\n",
            "line 5: spec.steps[0]: it has fail and drain: give one of",
        ),
        ("spec:\n  steps:\n  - fail: []\n", "line 5: spec.steps[0]: fail is empty: give a list"),
        (
            "spec:\n  steps:\n  - fail: [a]\n    at: soon\n",
            "line 6: spec.steps[0].at: 'soon' is no duration: write 90s, 12m or 1h30m",
        ),
        (
            "spec:\n  duration: 5m\n  steps:\n  - fail: [a]\n    at: 6m\n",
            "line 7: spec.steps[0].at: 6m is after the end: make spec.duration (5m) longer",
        ),
        ("spec:\n  duration: 48h\n" + STEPS, "line 4: spec.duration: '48h' is longer than 24 h"),
        ("spec:\n  duration: 0s\n" + STEPS, "line 4: spec.duration: '0s' is no time to come"),
        (
            "spec:\n  steps:\n  - slow: {clusters: [a], by: fast}\n",
            "line 5: spec.steps[0].slow.by: 'fast' is no duration",
        ),
        (
            "spec:\n  steps:\n  - nodesDown: {clusters: [a], nodes: 0}\n",
            "line 5: spec.steps[0].nodesDown.nodes: Expected `int` >= 1",
        ),
        ("spec:\n  steps:\n  - apply: [{kind: ConfigMap}]\n", "it has no kind, or no metadata.name"),
        (
            f"spec:\n{STEPS}  expect:\n  - recovered: 12m\n",
            "line 7: spec.expect[0].recovered: there is no field 'recovered'; choose from recoveredWithin",
        ),
        (
            f"spec:\n{STEPS}  expect:\n  - neverFewerThan: 0\n",
            "line 7: spec.expect[0].neverFewerThan: Expected `int` >= 1",
        ),
        (f"spec:\n{STEPS}  expect:\n  - brake: off\n", "line 7: spec.expect[0].brake:"),
        (
            f"spec:\n{STEPS}  expect:\n  - brake: idle\n    namespace: shop\n",
            "line 7: spec.expect[0]: the brake is of the whole fleet",
        ),
        (f"spec:\n{STEPS}  expect:\n  - namespace: shop\n", "it has no claim: give one of recoveredWithin"),
    ],
)
def test_what_is_wrong_is_told_with_its_line_and_the_way_out(text: str, said: str) -> None:
    with pytest.raises(ScenarioProblem) as problem:
        scenario(text)
    assert said in str(problem.value)


def test_another_kind_is_refused() -> None:
    with pytest.raises(ScenarioProblem, match="line 2: kind: Invalid enum value 'Scenario'; choose from Rehearsal"):
        parse_scenario(b"apiVersion: leeward.dev/v1alpha1\nkind: Scenario\nspec:\n" + STEPS.encode())
