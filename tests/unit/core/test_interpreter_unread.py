"""Substitutes for interpreter configurations that cannot be read."""

import pytest

from kubeapi.meta import Manifest
from leeward.core.interpreter.scripts import Operation, scripts_for
from leeward.core.interpreter.unread import unread_configuration, unread_customization
from leeward.core.interpreter.webhook_exchange import hook_for

TARGET = {"apiVersion": "v1", "kind": "Thing"}


def answered(customizations: object) -> set[Operation]:
    """The questions for which something stands in."""
    found = unread_customization(
        {"metadata": {"name": "things"}, "spec": {"target": TARGET, "customizations": customizations}}
    )
    return {each for each in Operation if scripts_for([found], "v1", "Thing", each)}


def test_it_answers_the_questions_that_what_is_stored_has_an_answer_for() -> None:
    assert answered({"retention": {"luaScript": 7}, "healthInterpretation": None}) == {Operation.RETAIN}
    assert answered({"replicaResource": "text", "unheardOf": {}}) == {Operation.REPLICA}


@pytest.mark.parametrize("customizations", [None, 7, [], {}], ids=repr)
def test_where_that_cannot_be_said_it_answers_all_of_them(customizations: object) -> None:
    assert answered(customizations) == set(Operation)


def test_of_another_kind_it_says_nothing() -> None:
    found = unread_customization({"metadata": {"name": "things"}, "spec": {"target": TARGET}})
    assert not scripts_for([found], "v1", "Other", Operation.HEALTH)
    assert not scripts_for([unread_customization({"spec": 7})], "v1", "Thing", Operation.HEALTH)


@pytest.mark.parametrize(
    ("rule", "is_asked"),
    [
        ({"operations": ["InterpretHealth"], "apiGroups": [""], "apiVersions": ["v1"], "kinds": ["Thing"]}, True),
        ({"operations": ["InterpretHealth"], "apiGroups": [""], "apiVersions": 1, "kinds": ["Thing"]}, True),
        ({"operations": ["Retain"], "apiGroups": [""], "apiVersions": ["v1"], "kinds": ["Thing"]}, False),
        ({"operations": ["InterpretHealth"], "apiGroups": [""], "apiVersions": ["v1"], "kinds": ["Other", 7]}, False),
    ],
)
def test_a_webhook_that_cannot_be_read_is_there_for_what_can_be_read_of_its_rules(
    rule: Manifest, *, is_asked: bool
) -> None:
    stored = {"metadata": {"name": "hooks"}, "webhooks": [{"name": "a", "rules": [rule]}, 7]}
    found = hook_for([unread_configuration(stored)], "v1", "Thing", Operation.HEALTH)
    assert (found is not None) is is_asked
