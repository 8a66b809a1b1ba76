"""Enforcement of quotas held against what Karmada's webhook allowed and refused, and what it then counted as used."""

from collections.abc import Mapping
from decimal import Decimal
from functools import partial
from typing import Any

from kubeapi.codec import from_wire
from leeward.api.validation import validate
from leeward.api.work import ResourceBindingSpec
from leeward.core.amounts import Amounts
from leeward.core.quota.enforcement import GrowthVerdict, LimitedNamespace, judge_growth
from leeward.core.quota.usage import amounts_of, growth, usage_of
from tests.oracle import Case, Difference, all_at, amounts, at, load_handler, replay

DEPENDENCIES = "resourcebinding.karmada.io/dependencies"


def quotas_of(case: Case) -> list[LimitedNamespace]:
    return [
        LimitedNamespace(
            quota["metadata"]["namespace"],
            quota["metadata"]["name"],
            amounts_of(at(quota, "spec", "overall") or {}),
            amounts_of(at(quota, "status", "overallUsed") or {}),
        )
        for quota in all_at(case.given, "federatedResourceQuotas")
    ]


def usages_of(case: Case) -> tuple[Amounts, Amounts]:
    """Usages before and after the write."""
    gate = "MultiplePodTemplatesScheduling=true" in case.given["featureGates"]

    def usage(binding: Any) -> Amounts:
        spec = from_wire(binding["spec"], ResourceBindingSpec) if binding else None
        return usage_of(spec, multiple_pod_templates=gate) if spec is not None else {}

    return usage(case.given.get("oldObject")), usage(case.given["object"])


def is_malformed(case: Case) -> bool:
    """Tells whether it is refused before quotas are looked at: Karmada looks at components only after them."""
    problems = validate(case.given["object"], case.given.get("oldObject"))
    return any(DEPENDENCIES in problem.field for problem in problems)


def judge(case: Case) -> GrowthVerdict:
    return GrowthVerdict() if is_malformed(case) else judge_growth(*usages_of(case), quotas_of(case))


def used(quotas: Mapping[str, Mapping[str, Decimal]]) -> dict[str, dict[str, Decimal]]:
    """Quotas without what is used with nothing."""
    return {name: {key: value for key, value in each.items() if value} for name, each in quotas.items()}


def answer(case: Case) -> object:
    verdict = judge(case)
    counted = {quota.name: quota.used for quota in quotas_of(case)} | dict(verdict.used)
    after = {name: {key: each.value for key, each in found.items()} for name, found in counted.items()}
    return "".join(verdict.refusals[:1]), used(after)


def expected(case: Case) -> object:
    refusal = case.expected["message"] if case.expected.get("reason") == "QuotaExceeded" else ""
    after = {name: amounts(quantities) for name, quantities in case.expected["overallUsedAfter"].items()}
    return refusal, used(after)


def differs(case: Case) -> Difference | None:
    """Karmada refuses, too, what makes the usage less and leaves it above the limit."""
    before, after = usages_of(case)
    quotas = quotas_of(case)
    if not quotas or any(change > 0 for change in growth(before, after).values()):
        return None
    return Difference("what lets no usage grow passes, however much is used", partial(_check_passes, quotas=quotas))


def _check_passes(case: Case, got: Any, quotas: list[LimitedNamespace]) -> None:
    assert got[0] == ""
    assert case.expected.get("reason") == "QuotaExceeded"
    changes = growth(*usages_of(case))
    for quota in quotas:
        for name in quota.overall:
            was = quota.used[name].value if name in quota.used else Decimal(0)
            assert got[1][quota.name].get(name, Decimal(0)) == max(Decimal(0), was + changes.get(name, Decimal(0)))


def test_writes_of_bindings_pass_and_are_refused_as_recorded() -> None:
    """Usages after a write are compared, too, also of one that is refused for another reason and has no effect here.

    Karmada tells the first refusal alone.
    """
    cases = load_handler("resourcebinding/validating")
    replay(cases, answer, expected, differs=differs, at_least=100)
