"""Rendering of overrides: a manifest as it is to be in one cluster, and what was applied to it.

All of it is carried out, or nothing: a rule that cannot be carried out makes the whole an `OverrideFailure`, and the
manifest stays as it is. Neither may an override change which object it is: kind, apiVersion, namespace and name are
those of the template.

Karmada: pkg/util/overridemanager; same order. Differs: Karmada lets the identity be overridden.
"""

from collections.abc import Sequence, Sized
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any, Final, TypeVar, cast

from kubeapi.codec import encode, to_wire
from kubeapi.diff import is_equal
from kubeapi.json_document import Document
from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.unstructured import value_at
from leeward.api.names import (
    APPLIED_CLUSTER_OVERRIDES_ANNOTATION,
    APPLIED_OVERRIDES_ANNOTATION,
    AWAITED_GATE_ANNOTATION,
    DEPENDENCIES_REFUSED_ANNOTATION,
)
from leeward.api.rules.bounds import FEWER_OVERRIDERS, MOST_OVERRIDERS
from leeward.api.rules.overrides import RBAC_WAY_OUT
from leeward.core.overrides.applicable import grants_rights
from leeward.core.overrides.applied import joined
from leeward.core.overrides.effort import Effort, Steps
from leeward.core.overrides.override_rule import AnyOverridePolicy, OverrideRule, Rules, Step

MOST_POLICIES_OF_A_TEMPLATE: Final = 100
"""Most policies of either kind for a template; more would have to be gone through for each cluster, and could make the
manifest grow without end."""
MOST_APPLIED_BYTES: Final = 240 * 1024
"""Most bytes of a Work's annotations that tell of applied overriders: of the 256 KiB of all, a few are of others."""
_IDENTITY: Final = ("apiVersion",), ("kind",), ("metadata", "namespace"), ("metadata", "name")
T = TypeVar("T")


@dataclass(frozen=True)
class Overridden:
    """A manifest for one cluster or several, and the rules that were carried out on it, in order. `refused`: the
    cluster does not have these objects that it needs. `awaited`: nobody relies on it before these gates hold."""

    manifest: ReadOnlyManifest
    applied: tuple[OverrideRule, ...] = ()
    refused: str = ""
    awaited: str = ""

    @cached_property
    def annotations(self) -> dict[str, str]:
        """Annotations that tell on a Work which rules were applied, by name, whatever their order; and what
        the copy lacks."""
        found: dict[str, list[OverrideRule]] = {}
        for rule in sorted(self.applied, key=lambda rule: rule.policy.name):
            namespaced = bool(rule.policy.namespace)
            key = APPLIED_OVERRIDES_ANNOTATION if namespaced else APPLIED_CLUSTER_OVERRIDES_ANNOTATION
            found.setdefault(key, []).append(rule)
        applied = {annotation: joined(rule.applied for rule in rules) for annotation, rules in found.items()}
        lacking = {DEPENDENCIES_REFUSED_ANNOTATION: self.refused, AWAITED_GATE_ANNOTATION: self.awaited}
        return {**applied, **{annotation: text for annotation, text in lacking.items() if text}}


@dataclass(frozen=True, slots=True)
class OverrideFailure:
    """Reason why nothing was rendered: the policy, if it was one, and what is wrong."""

    policy: AnyOverridePolicy | None
    message: str


def override(before: Overridden, rules: Sequence[OverrideRule]) -> Steps[Overridden | OverrideFailure]:
    """The manifest after these rules, which select it and mean the cluster. Pauses after each overrider, container and
    text.

    Holds: S6, S14.
    """
    document, effort = Document(before.manifest), Effort()
    for _, of_policy in groupby(rules, key=lambda rule: id(rule.policy)):
        if refused := _refused(tuple(of_policy), before.manifest):
            return refused
    for rule in rules:
        try:
            for step in rule.steps:
                yield from _apply(document, step, effort)
            if rule.goes_anywhere:
                _check_identity(before.manifest, document.root)
        except (ValueError, RecursionError) as error:
            return OverrideFailure(rule.policy, str(error))
    result = Overridden(document.root, (*before.applied, *rules))
    return _too_long(result) or result


def _too_long(result: Overridden) -> OverrideFailure | None:
    """Failure of overriders whose record no Work could have: it would never be written."""
    size = sum(len(text.encode()) for text in result.annotations.values())
    if size <= MOST_APPLIED_BYTES:
        return None
    rule = max(result.applied, key=lambda rule: len(rule.applied))
    fields: Manifest = to_wire(rule.overriders)
    longest = max(fields, key=lambda field: len(encode(fields[field])))
    return OverrideFailure(
        rule.policy,
        f"{longest}: Too long: the Work would tell of overriders of {size} bytes, and at most {MOST_APPLIED_BYTES} "
        "fit; write long values into the template",
    )


def too_many(policies: Sized) -> OverrideFailure | None:
    """Failure by the number of policies of one kind that select a manifest."""
    if len(policies) <= MOST_POLICIES_OF_A_TEMPLATE:
        return None
    return OverrideFailure(
        None,
        f"{len(policies)} override policies apply, and at most {MOST_POLICIES_OF_A_TEMPLATE} may: "
        "join some of them, or narrow their resourceSelectors",
    )


def completed(steps: Steps[T]) -> T:
    """The result of steps that are all taken at once."""
    while True:
        try:
            next(steps)
        except StopIteration as ended:
            return cast(T, ended.value)


def _refused(rules: Rules, manifest: ReadOnlyManifest) -> OverrideFailure | None:
    """Failure of rules of one policy that are not carried out on the manifest at all.

    Who may override in a namespace could otherwise write rights into members that the control plane would not let them
    write here.
    """
    policy, count = rules[0].policy, sum(rule.count for rule in rules)
    if policy.namespace and grants_rights(manifest):
        return OverrideFailure(policy, f"an OverridePolicy changes no {manifest.get('kind')}: {RBAC_WAY_OUT}")
    return OverrideFailure(policy, f"{count} overriders: {FEWER_OVERRIDERS}") if count > MOST_OVERRIDERS else None


def _apply(document: Document, step: Step, effort: Effort) -> Steps[None]:
    """Carries a step out. Raises: ValueError that says that it cannot be."""
    yield from step(document, effort)


def _check_identity(before: ReadOnlyManifest, after: Any) -> None:
    """Raises: ValueError when it is another object, or none whose labels can be read."""
    if not all(is_equal(value_at(after, *path), value_at(before, *path)) for path in _IDENTITY):
        raise ValueError("an override cannot change apiVersion, kind, metadata.namespace or metadata.name")
    for field in ("labels", "annotations"):
        if not isinstance(after["metadata"].get(field) or {}, dict):
            raise ValueError(f"an override has made metadata.{field} something else than a mapping")
