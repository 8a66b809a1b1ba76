"""--controllers and --feature-gates: what they choose, and what they refuse."""

import pytest

from leeward.manager.choice import ABSENT, BY_DEFAULT, HALVES, Choice, ChoiceProblem, parse_choice
from leeward.manager.gates import GATES, FeatureGates, GateProblem, switch_gates


def test_a_star_runs_everything_but_the_halves_of_the_decision() -> None:
    choice = Choice()
    assert all(map(choice.runs, BY_DEFAULT))
    assert not choice.any_of(HALVES)


def test_the_first_that_speaks_of_a_controller_decides() -> None:
    assert not Choice(("-namespace", "*", "namespace")).runs("namespace")
    assert Choice(("namespace", "-namespace")).runs("namespace")
    assert not Choice(("namespace",)).runs("cluster")
    assert Choice(("taint-manager", "gracefulEviction")).any_of(HALVES)


@pytest.mark.parametrize(
    ("patterns", "halves"),
    [
        (("-scheduler", "*"), HALVES),
        (("-scheduler", "-gracefulEviction", "*"), ("taint-manager", "applicationFailover")),
        (("-scheduler", "*", "gracefulEviction"), ()),
        (("cluster",), ()),
        (("*",), ()),
    ],
)
def test_what_evicts_beside_a_foreign_scheduler_is_what_was_not_chosen_otherwise(
    patterns: tuple[str, ...], halves: tuple[str, ...]
) -> None:
    assert Choice(patterns).halves_beside_a_foreign_scheduler() == halves


@pytest.mark.parametrize(
    ("patterns", "problem"),
    [
        (("*", "-nmespace"), "there is no controller 'nmespace': choose from"),
        (("remedy",), "Leeward has no controller 'remedy': leave it out"),
        (
            ("*", "-cluster"),
            "clustertaintpolicy is a part of cluster here: .* or switch it off with -clustertaintpolicy",
        ),
        (("*", "-binding"), "binding and bindingStatus are one controller here: name both, or neither"),
    ],
)
def test_a_choice_that_cannot_be_is_refused(patterns: tuple[str, ...], problem: str) -> None:
    with pytest.raises(ChoiceProblem, match=problem):
        parse_choice(patterns)


def test_what_leeward_has_not_may_be_switched_off() -> None:
    patterns = ("*", *(f"-{name}" for name in ABSENT))
    assert parse_choice(patterns) == patterns


def test_gates_have_the_defaults_of_the_table_until_they_are_switched() -> None:
    assert all(FeatureGates().enabled(gate.name) is gate.default for gate in GATES)
    assert not switch_gates([("Failover", True), ("Failover", False)]).enabled("Failover")


@pytest.mark.parametrize(
    ("name", "enabled", "problem"),
    [
        ("failover", True, "there is no feature gate 'failover': choose from CustomizedClusterResourceModeling"),
        ("MultiClusterService", True, "MultiClusterService cannot be true: Leeward does not have it"),
    ],
)
def test_a_gate_that_cannot_be_switched_says_why(name: str, enabled: bool, problem: str) -> None:
    with pytest.raises(GateProblem, match=problem):
        switch_gates([(name, enabled)])


def test_every_gate_may_be_given_its_default() -> None:
    assert switch_gates((gate.name, gate.default) for gate in GATES).enabled("Failover")
