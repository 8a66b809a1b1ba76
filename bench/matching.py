"""Matching of templates with policies: the index, beside the plain search through all selectors of all policies.

The policies are of one tenant and do not select the templates, as in an attack; both answers are compared. Times are
CPU times of this process, which does nothing but compute; the plain search is measured on a part and scaled up.
"""

import time
from collections.abc import Callable, Sequence

from kubeapi.meta import LabelSelector, LabelSelectorRequirement, Manifest, ObjectMeta
from leeward.api.policy import (
    AnyPropagationPolicy,
    PropagationPolicy,
    PropagationSpec,
    ResourceSelector,
)
from leeward.core.propagation.matching import keep_or_find_policy
from leeward.runtime.policy_index import PolicyIndexes

NAMESPACE = "tenant"
SAMPLE_SELECTORS = 400_000
"""Number of comparisons that are enough to measure the plain search."""


def run() -> None:
    print(f"{'a search for each template':<58}{'index':>11}{'plain':>12}{'ratio':>9}")
    for policies in (2, 40):
        for how, selector in (("by name", by_name), ("by label", by_label), ("that exclude", excluding)):
            _compare(f"300 x {policies * 1_000:,} selectors {how}", 300, policies, 1_000, selector)


def _compare(
    title: str, templates: int, policies: int, selectors: int, selector: Callable[[int], ResourceSelector]
) -> None:
    made = [policy(number, [selector(n) for n in range(selectors)]) for number in range(policies)]
    index = PolicyIndexes()
    for one in made:
        index.put(one)
    asked = [template(number) for number in range(templates)]

    def indexed(template: Manifest) -> AnyPropagationPolicy | None:
        searching = index.search(template, "")
        while True:
            try:
                next(searching)
            except StopIteration as ended:
                return ended.value

    few = asked[: max(1, SAMPLE_SELECTORS // (policies * selectors))]
    ours, found = _seconds(indexed, asked)
    plain, expected = _seconds(lambda template: keep_or_find_policy(template, "", made, ()), few)
    assert found[: len(few)] == expected
    plain *= len(asked) / len(few)
    print(f"{title:<58}{ours * 1e3:>8.1f} ms{plain * 1e3:>9.0f} ms{plain / ours:>8.0f}x")


def _seconds(
    ask: Callable[[Manifest], AnyPropagationPolicy | None], asked: Sequence[Manifest]
) -> tuple[float, list[AnyPropagationPolicy | None]]:
    started = time.process_time()
    found = [ask(template) for template in asked]
    return time.process_time() - started, found


def template(number: int) -> Manifest:
    metadata = {"name": f"c{number}", "namespace": NAMESPACE, "labels": {"app": "mine", "tier": f"t{number}"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


def policy(number: int, selectors: Sequence[ResourceSelector]) -> PropagationPolicy:
    metadata = ObjectMeta(name=f"p{number}", namespace=NAMESPACE)
    return PropagationPolicy(metadata=metadata, spec=PropagationSpec(resource_selectors=tuple(selectors)))


def by_name(number: int) -> ResourceSelector:
    return ResourceSelector(api_version="v1", kind="ConfigMap", name=f"x{number}")


def by_label(number: int) -> ResourceSelector:
    labels = LabelSelector(match_labels={"app": f"x{number}"})
    return ResourceSelector(api_version="v1", kind="ConfigMap", label_selector=labels)


def excluding(number: int) -> ResourceSelector:
    requirement = LabelSelectorRequirement(key="app", operator="NotIn", values=("mine", f"x{number}"))
    labels = LabelSelector(match_expressions=(requirement,))
    return ResourceSelector(api_version="v1", kind="ConfigMap", label_selector=labels)
