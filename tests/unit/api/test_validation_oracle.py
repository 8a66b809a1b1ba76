"""Validation held against what Karmada's own webhooks and its Cluster registry refused, field by field."""

import gzip
import json

import pytest

from kubeapi.meta import Manifest, parse_time
from kubeapi.status import Problem
from leeward.api.defaulting import DefaultingSettings, apply_defaults
from leeward.api.validation import validate, validate_deletion
from tests.oracle import DATA, Case, Difference, load, replay
from tests.unserved_kinds import UNSERVED, is_unserved

KINDS = {
    "FieldValueInvalid": "Invalid value",
    "FieldValueRequired": "Required value",
    "FieldValueNotSupported": "Unsupported value",
    "FieldValueForbidden": "Forbidden",
    "FieldValueDuplicate": "Duplicate value",
}


def validating_cases() -> list[Case]:
    """Cases but for the bindings that a quota refuses: `core/quota/test_quota_oracle.py` has them."""
    with gzip.open(DATA / "webhook.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [
        Case(r["id"], r["handler"].removesuffix("/validating"), "", r["in"], r["out"])
        for r in rows
        if r["handler"].endswith("/validating") and r["out"].get("reason") != "QuotaExceeded"
    ]


def unserved(case: Case) -> Difference | None:
    if case.op in UNSERVED:
        return Difference("a kind that Leeward does not have: it is not served, and so not judged", is_not_judged)
    return None


def is_not_judged(case: Case, got: tuple[bool, list[str]]) -> None:
    assert is_unserved(case)
    assert got == (True, [])


def fields_of(problems: list[Problem]) -> list[str]:
    return sorted({f"{problem.field}: {KINDS[problem.kind]}" for problem in problems})


def recorded(case: Case) -> tuple[bool, list[str]]:
    return case.expected["allowed"], case.expected.get("fieldErrors", [])


def answer(case: Case) -> tuple[bool, list[str]]:
    given = case.given
    if case.op == "resourcedeletionprotection":
        problems = validate_deletion(given["oldObject"]) if given["operation"] == "DELETE" else []
    else:
        allowed = given.get("allowNoExecuteTaintPolicy", False)
        problems = validate(given["object"], given.get("oldObject"), allow_no_execute_taint_policy=allowed)
    return not problems, fields_of(problems) if case.expected.get("fieldErrors") else []


@pytest.mark.parametrize("handler", sorted({case.op for case in validating_cases()}))
def test_webhooks_find_the_same_problems_as_recorded(handler: str) -> None:
    """A denial without field errors is only compared as a denial: there ours names a field and Karmada's does not."""
    cases = [case for case in validating_cases() if case.op == handler]
    replay(cases, answer, recorded, differs=unserved, at_least=0)


def registered(case: Case) -> tuple[bool, list[str]]:
    """Defaulted first, as an API server does it."""
    old: Manifest | None = case.given.get("oldObject") if case.op == "update" else None
    settings = DefaultingSettings(parse_time(case.given["now"]), lambda: "<uuid>")
    problems = validate(apply_defaults(case.given["object"], settings, old), old)
    return not problems, fields_of(problems)


def test_clusters_have_the_same_problems_as_recorded() -> None:
    replay(load("cluster_registry", "create", "update"), registered, recorded, at_least=400)
