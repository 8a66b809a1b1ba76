"""Whether a webhook wants to see a request: its rules, then the labels of the namespace and of the object.

Pure: what is stored comes in as arguments.
"""

from collections.abc import Iterable, Mapping
from typing import cast

from leeward.api.meta import ReadOnlyManifest
from leeward.api.selectors import matches
from leeward.apiserver.admission import AdmissionReview
from leeward.apiserver.kinds.kind import Kind
from leeward.apiserver.values import section
from leeward.apiserver.webhooks.configuration import GROUP, MUTATING, VALIDATING, Rule, Webhook

NAMESPACES = "//namespaces/"
_ANY = "*"


def is_exempt(kind: Kind) -> bool:
    """Webhook configurations are never sent to webhooks: one could make itself irremovable."""
    return kind.group == GROUP and kind.plural in (MUTATING, VALIDATING)


def matched_kind(webhook: Webhook, review: AdmissionReview, equivalents: Iterable[Kind]) -> Kind | None:
    """As which kind the webhook sees the object: its own, else an equivalent one if it takes that; None if neither."""
    if _has_rule_for(webhook, review, review.kind):
        return review.kind
    if webhook.match_policy != "Equivalent":
        return None
    return next((kind for kind in equivalents if _has_rule_for(webhook, review, kind)), None)


def is_selected(webhook: Webhook, review: AdmissionReview, namespace_labels: Mapping[str, str]) -> bool:
    """Whether the selectors let the object through. `namespace_labels` are those of the namespace that it lies in."""
    return _is_in_selected_namespace(webhook, review, namespace_labels) and any(
        matches(webhook.objects, labels_of(each)) for each in (review.object, review.old_object) if each is not None
    )


def labels_of(manifest: ReadOnlyManifest) -> Mapping[str, str]:
    return cast(Mapping[str, str], section(section(manifest, "metadata"), "labels"))


def _is_in_selected_namespace(webhook: Webhook, review: AdmissionReview, labels: Mapping[str, str]) -> bool:
    """A namespace is judged by its own labels; what lies in none is let through."""
    if review.kind.prefix == NAMESPACES:
        return matches(webhook.namespaces, labels_of(review.object))
    return not review.kind.namespaced or matches(webhook.namespaces, labels)


def _has_rule_for(webhook: Webhook, review: AdmissionReview, kind: Kind) -> bool:
    return any(_applies(rule, review, kind) for rule in webhook.rules)


def _applies(rule: Rule, review: AdmissionReview, kind: Kind) -> bool:
    scope = "Namespaced" if kind.namespaced else "Cluster"
    return (
        _has(rule.operations, review.operation)
        and _has(rule.api_groups, kind.group)
        and _has(rule.api_versions, kind.version)
        and rule.scope in (_ANY, scope)
        and any(_is_resource(written, kind.plural, review.subresource) for written in rule.resources)
    )


def _has(allowed: tuple[str, ...], value: str) -> bool:
    return _ANY in allowed or value in allowed


def _is_resource(written: str, plural: str, subresource: str) -> bool:
    """`pods`, `pods/status`, `pods/*`, `*/scale`, `*` (no subresources) or `*/*`."""
    resource, _, part = written.partition("/")
    return resource in (_ANY, plural) and part in (subresource, _ANY)
