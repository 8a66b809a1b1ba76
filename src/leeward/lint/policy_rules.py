"""Rules about what policies select: nothing, what others have claimed, or the same as another one; and annotations."""

from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher

from kubeapi.meta import annotations_of
from leeward.api.names import LINT_IGNORE_ANNOTATION
from leeward.api.policy import ResourceSelector
from leeward.core.propagation.claiming import OPTION_ANNOTATIONS
from leeward.core.propagation.matching import NO_MATCH, resource_precision, selector_priority
from leeward.core.propagation.reach import Reach
from leeward.lint.findings import Diagnostic
from leeward.lint.objects import LintObject, LintPolicy
from leeward.lint.picture import LintPicture
from leeward.lint.selected_kinds import kind_fault

_SELECTORS = ("spec", "resourceSelectors")
_REACH = Reach()
_OURS = "leeward.dev/"
_ANNOTATIONS = (*OPTION_ANNOTATIONS, LINT_IGNORE_ANNOTATION)
"""Annotations of ours that are read of a policy."""


def unknown_annotations(picture: LintPicture) -> Iterator[Diagnostic]:
    """Annotations of ours on policies that nobody reads; those that there are begin with the nearest."""
    for each in picture.objects:
        for name in annotations_of(each.manifest) if each.is_policy else ():
            if name.startswith(_OURS) and name not in _ANNOTATIONS:
                near = sorted(_ANNOTATIONS, key=lambda known: -SequenceMatcher(None, name, known).ratio())
                said = f"{each} has the annotation {name}, which nobody reads; there are {', '.join(near)}"
                yield Diagnostic(each, said, ("metadata", "annotations", name))


def selects_nothing(picture: LintPicture) -> Iterator[Diagnostic]:
    """Finds selectors that select nothing. Of other files nothing is known: there, only what is near enough to be a
    mistake is told."""
    for policy in picture.policies:
        selectors = policy.policy.spec.resource_selectors
        matched = [_matches_some(picture, policy, each) for each in selectors]
        faults = {i: fault for i, each in enumerate(selectors) if (fault := _never_matches(each))}
        yield from (Diagnostic(policy.source, f"{policy} {fault}", (*_SELECTORS, i)) for i, fault in faults.items())
        near = {
            i: _nearest(picture, policy, each) for i, each in enumerate(selectors) if not matched[i] and i not in faults
        }
        if any(matched):
            named = {i: fault for i, fault in near.items() if fault and selectors[i].name}
            yield from (Diagnostic(policy.source, f"{policy} {fault}", (*_SELECTORS, i)) for i, fault in named.items())
            yield from _never_wins(picture, policy)
        elif told := {i: fault for i, fault in near.items() if fault}:
            yield from (Diagnostic(policy.source, f"{policy} {fault}", (*_SELECTORS, i)) for i, fault in told.items())
        elif picture.is_whole and near and not policy.policy.spec.activation_preference:
            yield Diagnostic(policy.source, f"{policy} selects nothing that there is", _SELECTORS)


def _matches_some(picture: LintPicture, policy: LintPolicy, selector: ResourceSelector) -> bool:
    kind, name = selector.kind, selector.name
    near = picture.templates_by_name.get((kind, name), ()) if name else picture.templates_by_kind.get(kind, ())
    return any(resource_precision(each.manifest, selector, policy.policy.namespace) > NO_MATCH for each in near)


def _never_matches(selector: ResourceSelector) -> str:
    """Reason for which what it names is never propagated; empty where it can be."""
    if _REACH.skipped_apis.skips(selector.api_version, selector.kind):
        return f"selects {selector.kind}: kinds of {selector.api_version.rpartition('/')[0]} are never propagated"
    if fault := kind_fault(selector.api_version, selector.kind):
        return f"selects {selector.kind}: {fault}"
    is_namespace = selector.kind == "Namespace"
    name = selector.name if is_namespace else selector.namespace
    if name and _REACH.skips_namespace(name):
        return f"selects in namespace {name}, of which nothing is propagated"
    return ""


def _nearest(picture: LintPicture, policy: LintPolicy, selector: ResourceSelector) -> str:
    """Sentence on what is there and was probably meant; empty where nothing is."""
    namespace = selector.namespace or policy.policy.namespace
    of_kind = picture.templates_by_kind.get(selector.kind, ())
    group = selector.api_version.rpartition("/")[0]
    same = [each for each in of_kind if each.api_version == selector.api_version]
    here = [each for each in same if not namespace or each.namespace == namespace]
    what = f"{selector.kind} {selector.name}".strip()
    where = f" in namespace {namespace}" if namespace else ""
    if selector.name and (elsewhere := next((each for each in same if each.name == selector.name), None)):
        return f"selects {what}{where}, and there is one in namespace {elsewhere.namespace} only"
    if here and selector.name:
        return f"selects {what}{where}, and there is {_some(here)}"
    if here:
        return f"selects {selector.kind} by labels that none{where} has"
    other = next((each for each in of_kind if each.group == group and each.api_version != selector.api_version), None)
    if other is not None:
        return f"selects {selector.api_version} {what}, and what is there is {other.api_version}"
    if same and not selector.name:
        return f"selects {what}{where}, and there is {_some(same)}"
    return ""


def _some(templates: list[LintObject]) -> str:
    more = len(templates) - 2
    return "only " + ", ".join(str(each) for each in templates[:2]) + (f" and {more} more" if more > 0 else "")


def _never_wins(picture: LintPicture, policy: LintPolicy) -> Iterator[Diagnostic]:
    if picture.claimed_by_policy[policy]:
        return
    kinds = {selector.kind for selector in policy.policy.spec.resource_selectors}
    templates = (each for kind in kinds for each in picture.templates_by_kind.get(kind, ()))
    selected = [each for each in templates if policy in picture.policies_of(each) and _is_selected(policy, each)]
    winners = Counter(winner for each in selected if (winner := picture.policy_of(each)) is not None)
    if policy in winners or not winners:
        return
    [(winner, _)] = winners.most_common(1)
    said = f"{policy} claims nothing: all that it selects is claimed by {winner}"
    if len(winners) > 1:
        said += f" and {len(winners) - 1} more"
    yield Diagnostic(policy.source, said, _SELECTORS, others=(winner.source,))


def _is_selected(policy: LintPolicy, template: LintObject) -> bool:
    return selector_priority(template.manifest, policy.policy.spec, policy.policy.namespace) > NO_MATCH


def overlapping(picture: LintPicture) -> Iterator[Diagnostic]:
    """Two policies of the same scope that nothing but their names puts in an order."""
    found: dict[tuple[LintPolicy, LintPolicy], list[LintObject]] = {}
    for template in picture.templates:
        winner = picture.policy_of(template)
        for other in picture.policies_of(template) if winner is not None else ():
            if winner is not None and other is not winner and _are_equal(winner, other, template):
                found.setdefault((winner, other), []).append(template)
    for (winner, other), templates in found.items():
        more = f" and {len(templates) - 1} more" if len(templates) > 1 else ""
        said = (
            f"{other} and {winner} select {templates[0]}{more} with the same priority and as precisely: the first that "
            "comes claims it, and of two at once the first by name"
        )
        yield Diagnostic(other.source, said, _SELECTORS, others=(winner.source,))


def _are_equal(winner: LintPolicy, other: LintPolicy, template: LintObject) -> bool:
    return _rank(winner, template) == _rank(other, template) and _is_selected(other, template)


def _rank(policy: LintPolicy, template: LintObject) -> tuple[bool, int, int]:
    spec, namespace = policy.policy.spec, policy.policy.namespace
    return bool(namespace), spec.priority or 0, selector_priority(template.manifest, spec, namespace)
