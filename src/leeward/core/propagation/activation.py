"""Lazy activation: a policy that takes effect on a template only when a user changes the template.

Karmada goes by events, and forgets its waits at a restart. Here the template carries the digest of its contents that
were applied last, or were there when the policy came (`leeward.dev/lazy-digest`). The binding carries it, too, with the
policy's result: a template that is replaced loses it.

    claimed by a lazy policy for the first time     waits, unless the template is younger than the policy,
                                                    or has changed since another policy was followed
    a change of the policy, or by a control plane   waits
    a change of the template by a user              takes effect, with the policy of then

Holds: S17.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kubeapi.meta import ReadOnlyManifest, annotations_of, parse_time
from leeward.api.names import LAZY_DIGEST_ANNOTATION, TEMPLATE_CONTENTS_ANNOTATION
from leeward.api.policy import AnyPropagationPolicy
from leeward.api.work import Binding
from leeward.core.propagation.binding import claim
from leeward.core.propagation.digest import contents_digest, user_digest

_WAITING = "waiting-"
"""Prefix of the digest of a template on which no policy has taken effect yet."""


@dataclass(frozen=True, slots=True)
class Activation:
    """The template's annotations of this, `before` the policy takes effect and `after` that. The binding has those of
    `after` from the moment on at which it follows the policy.

    `waits`: the binding stays as it is.
    """

    before: Mapping[str, str] = field(default_factory=dict[str, str])
    after: Mapping[str, str] = field(default_factory=dict[str, str])
    waits: bool = False


def decide_activation(template: ReadOnlyManifest, policy: AnyPropagationPolicy, binding: Binding | None) -> Activation:
    """Tells whether the policy takes effect on the template now; `binding` is the one that was made for it.

    A binding that somebody has deleted is made again.
    """
    if policy.spec.activation_preference != "Lazy":
        return Activation()
    digest, followed = user_digest(template), _followed(policy, binding)
    seen = annotations_of(template).get(LAZY_DIGEST_ANNOTATION) or followed
    before = {} if seen is None else {LAZY_DIGEST_ANNOTATION: seen}
    if seen is None and binding is None and not _is_younger(template, policy):
        return Activation(before, {LAZY_DIGEST_ANNOTATION: _WAITING + digest}, waits=True)
    if seen == _WAITING + digest:
        return Activation(before, before, waits=True)
    is_followed = digest in (seen, followed) if seen is not None else not _has_changed(template, binding)
    return Activation(before, {LAZY_DIGEST_ANNOTATION: digest}, waits=binding is not None and is_followed)


def _followed(policy: AnyPropagationPolicy, binding: Binding | None) -> str | None:
    """The digest of the template with which the binding has followed this very policy."""
    if binding is None or any(binding.metadata.labels.get(name) != text for name, text in claim(policy)[0].items()):
        return None
    return binding.metadata.annotations.get(LAZY_DIGEST_ANNOTATION)


def _has_changed(template: ReadOnlyManifest, binding: Binding | None) -> bool:
    """Tells whether the contents differ from those when another policy was followed last: this one is the first that
    can carry them out."""
    followed = binding.metadata.annotations.get(TEMPLATE_CONTENTS_ANNOTATION) if binding is not None else None
    return followed is not None and followed != contents_digest(template)


def _is_younger(template: ReadOnlyManifest, policy: AnyPropagationPolicy) -> bool:
    """Tells whether the template was made when the policy was there."""
    made, since = template["metadata"].get("creationTimestamp"), policy.metadata.creation_timestamp
    return not made or since is None or parse_time(made) >= since
