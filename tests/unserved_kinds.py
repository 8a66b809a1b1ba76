"""Kinds of Karmada that Leeward does not have: what is recorded of their webhooks is about nobody."""

from leeward.api.schema import custom_resource_definitions
from tests.oracle import Case

UNSERVED = ("federatedhpa", "cronfederatedhpa", "multiclusterservice")
"""Their handlers, as they are called in the recorded cases."""


def is_unserved(case: Case) -> bool:
    """Tells whether the API server has no such kind, so that it answers 404 before anybody asks for admission."""
    served = {definition["spec"]["names"]["kind"] for definition in custom_resource_definitions()}
    return case.given["object"]["kind"] not in served
