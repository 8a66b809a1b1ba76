"""Objects that a policy selected before it changed are found again, however often it changes."""

from controller_runtime.identity import Key
from leeward.core.propagation.selecting import Scope, SelectedIn
from leeward.runtime.policy_changes import MOST_EARLIER, EarlierSelections, PolicyKey

WEB, OTHER = PolicyKey(False, Key("default", "web")), PolicyKey(True, Key("", "web"))
DEPLOYMENTS, SECRETS = Scope("apps/v1", "Deployment", "default"), Scope("v1", "Secret", "default")


def test_earlier_selections_are_taken_once() -> None:
    earlier, before = EarlierSelections(), {DEPLOYMENTS: SelectedIn(frozenset({"a"}))}
    earlier.note(WEB, before)
    assert list(earlier.take(OTHER)) == []
    assert list(earlier.take(WEB)) == [before]
    assert list(earlier.take(WEB)) == []


def test_of_very_many_changes_the_kinds_and_namespaces_are_kept() -> None:
    earlier = EarlierSelections()
    for number in range(MOST_EARLIER):
        earlier.note(WEB, {DEPLOYMENTS: SelectedIn(frozenset({f"a{number}"}))})
    earlier.note(WEB, {SECRETS: SelectedIn(frozenset({"s"}))})
    assert list(earlier.take(WEB)) == [{DEPLOYMENTS: SelectedIn(all=True), SECRETS: SelectedIn(all=True)}]
