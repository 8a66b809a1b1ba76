"""Matching of requests with webhooks and policies: its rules, then the labels of the namespace and of the object.

What is stored comes in as arguments.
"""

from collections.abc import Iterable, Mapping
from typing import cast

from msgspec import structs

from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.selectors import matches
from kubeserver.admission import AdmissionReview
from kubeserver.dynamic_admission.webhooks.wire import is_whole
from kubeserver.errors import Unconvertible, internal_error
from kubeserver.kinds.kind import Kind
from kubeserver.registry.versions import converted
from kubeserver.values import section
from kubeserver.webhooks.configuration import GROUP, MUTATING, VALIDATING, Chooser, Rule

NAMESPACES = "//namespaces/"
_ANY = "*"


def is_exempt(kind: Kind) -> bool:
    """Webhook configurations are never sent to webhooks: one could make itself irremovable."""
    return kind.group == GROUP and kind.plural in (MUTATING, VALIDATING)


def matched_kind(chooser: Chooser, review: AdmissionReview, equivalents: Iterable[Kind]) -> Kind | None:
    """Kind as which the chooser sees the object: its own, else an equivalent one if it takes that; None if neither."""
    if _has_rule_for(chooser, review, review.kind):
        return review.kind
    if chooser.match_policy != "Equivalent":
        return None
    return next((kind for kind in equivalents if _has_rule_for(chooser, review, kind)), None)


def is_excluded(rules: Iterable[Rule], match_policy: str, review: AdmissionReview, equivalents: Iterable[Kind]) -> bool:
    """Tells whether one of the `rules` means the request, as its own kind or as an equivalent one."""
    kinds = (review.kind, *(equivalents if match_policy == "Equivalent" else ()))
    return any(_applies(rule, review, kind) for rule in rules for kind in kinds)


async def as_seen(review: AdmissionReview, kind: Kind) -> AdmissionReview:
    """The review with its objects as `kind`; those of a subresource's own kind have only one form. Raises: Refused."""
    if kind is review.kind or not is_whole(review):
        return review
    old = review.old_object
    seen = await seen_as(review.kind, kind, review.object)
    before = await seen_as(review.kind, kind, old) if old is not None else None
    return structs.replace(review, object=seen, old_object=before)


async def seen_as(kind: Kind, other: Kind, manifest: ReadOnlyManifest) -> Manifest:
    """An object of `kind` as `other`, for those who have a say in it. Raises: Refused."""
    try:
        return await converted(kind, other, manifest)
    except Unconvertible as error:
        raise internal_error(str(error)) from error


def is_selected(chooser: Chooser, review: AdmissionReview, namespace_labels: Mapping[str, str]) -> bool:
    """Tells whether the selectors let the object through. `namespace_labels` are those of the namespace that it lies
    in."""
    return _is_in_selected_namespace(chooser, review, namespace_labels) and any(
        matches(chooser.objects, labels_of(each)) for each in (review.object, review.old_object) if each is not None
    )


def labels_of(manifest: ReadOnlyManifest) -> Mapping[str, str]:
    return cast(Mapping[str, str], section(section(manifest, "metadata"), "labels"))


def _is_in_selected_namespace(chooser: Chooser, review: AdmissionReview, labels: Mapping[str, str]) -> bool:
    """A namespace is judged by its own labels; what lies in none is let through."""
    if review.kind.prefix == NAMESPACES:
        return matches(chooser.namespaces, labels_of(review.object))
    return not review.kind.namespaced or matches(chooser.namespaces, labels)


def _has_rule_for(chooser: Chooser, review: AdmissionReview, kind: Kind) -> bool:
    return any(_applies(rule, review, kind) for rule in chooser.rules)


def _applies(rule: Rule, review: AdmissionReview, kind: Kind) -> bool:
    scope = "Namespaced" if kind.namespaced else "Cluster"
    return (
        _has(rule.operations, review.operation)
        and _has(rule.api_groups, kind.group)
        and _has(rule.api_versions, kind.version)
        and rule.scope in (_ANY, scope)
        and any(_is_resource(written, kind.plural, review.subresource) for written in rule.resources)
        and (not rule.resource_names or _name_of(review) in rule.resource_names)
    )


def _name_of(review: AdmissionReview) -> str:
    return review.name or section(review.object, "metadata").get("name", "")


def _has(allowed: tuple[str, ...], value: str) -> bool:
    return _ANY in allowed or value in allowed


def _is_resource(written: str, plural: str, subresource: str) -> bool:
    """`pods`, `pods/status`, `pods/*`, `*/scale`, `*` (no subresources) or `*/*`."""
    resource, _, part = written.partition("/")
    return resource in (_ANY, plural) and part in (subresource, _ANY)
