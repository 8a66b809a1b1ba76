"""Rendering of overrides: a manifest as it is to be in one cluster, and what was applied to it.

All of it is carried out, or nothing: a rule that cannot be carried out makes the whole an `OverrideFailure`, and the
manifest stays as it is. Neither may an override change which object it is: kind, apiVersion, namespace and name are
those of the template.

Karmada: pkg/util/overridemanager; same order. Differs: Karmada lets the identity be overridden.
"""

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, TypeVar, cast

from kubeapi import codec
from kubeapi.codec import to_wire
from kubeapi.json_document import Document
from kubeapi.meta import Manifest, ReadOnlyManifest
from leeward.api.cluster import Cluster
from leeward.api.names import APPLIED_CLUSTER_OVERRIDES_ANNOTATION, APPLIED_OVERRIDES_ANNOTATION
from leeward.api.override import Overriders
from leeward.core.interpreter.fields import text_at, value_at
from leeward.core.overrides.applicable import AnyOverridePolicy, overriders_for
from leeward.core.overrides.commands import override_words
from leeward.core.overrides.embedded import override_field
from leeward.core.overrides.images import override_images
from leeward.core.overrides.marks import override_marks
from leeward.core.overrides.plaintext import patch_document

MOST_POLICIES_OF_A_TEMPLATE: Final = 100
"""Of either kind; more would have to be gone through for each cluster, and could make the manifest grow without end."""

T = TypeVar("T")
Steps = Generator[None, None, T]
"""A computation that pauses now and then, so that its caller can let others run."""


@dataclass(frozen=True, slots=True)
class AppliedOverride:
    """One rule of a policy that was carried out."""

    policy: AnyOverridePolicy
    overriders: Overriders


@dataclass(frozen=True, slots=True)
class Overridden:
    """A manifest for one cluster, and what was applied to it, in order."""

    manifest: ReadOnlyManifest
    applied: tuple[AppliedOverride, ...] = ()

    @property
    def annotations(self) -> dict[str, str]:
        """Those that tell on the Work what was applied."""
        cluster_wide = [each for each in self.applied if not each.policy.namespace]
        namespaced = [each for each in self.applied if each.policy.namespace]
        found = {APPLIED_CLUSTER_OVERRIDES_ANNOTATION: cluster_wide, APPLIED_OVERRIDES_ANNOTATION: namespaced}
        return {annotation: render_applied(applied) for annotation, applied in found.items() if applied}


@dataclass(frozen=True, slots=True)
class OverrideFailure:
    """Why nothing was rendered: the policy, if it was one, and what is wrong."""

    policy: AnyOverridePolicy | None
    message: str


def override(
    before: Overridden, cluster: Cluster, policies: Sequence[AnyOverridePolicy]
) -> Steps[Overridden | OverrideFailure]:
    """The manifest for the cluster after these policies: those that select it, in order. Pauses between rules.

    Holds: S6.
    """
    if len(policies) > MOST_POLICIES_OF_A_TEMPLATE:
        return OverrideFailure(
            None,
            f"{len(policies)} override policies apply, and at most {MOST_POLICIES_OF_A_TEMPLATE} may: "
            "join some of them, or narrow their resourceSelectors",
        )
    document, applied = Document(before.manifest), list(before.applied)
    for policy in policies:
        for overriders in overriders_for(policy, cluster):
            yield
            try:
                _apply(document, overriders)
                _check_identity(before.manifest, document.root)
            except (ValueError, RecursionError) as error:
                return OverrideFailure(policy, str(error))
            applied.append(AppliedOverride(policy, overriders))
    return Overridden(document.root, tuple(applied))


def completed(steps: Steps[T]) -> T:
    """The result of steps that are all taken at once."""
    while True:
        try:
            next(steps)
        except StopIteration as ended:
            return cast(T, ended.value)


def render_applied(applied: Iterable[AppliedOverride]) -> str:
    """The text of `policy.karmada.io/applied-overrides`, as Karmada writes it: by name, whatever the order was."""
    items = [
        {"policyName": each.policy.name, "overriders": _told(each.overriders)}
        for each in sorted(applied, key=lambda each: each.policy.name)
    ]
    text = codec.encode(items).decode()
    return text.replace("<", r"\u003c").replace(">", r"\u003e").replace("&", r"\u0026")


def policies_in(text: str) -> frozenset[str]:
    """The names of the policies in such a text; none where somebody has written something else."""
    try:
        items = codec.decode_any(text.encode()) if text else ()
    except codec.DecodeError:
        return frozenset()
    return frozenset(text_at(item, "policyName") for item in cast(list[Any], items if isinstance(items, list) else ()))


def _apply(document: Document, overriders: Overriders) -> None:
    """All overriders of a rule, by their kind. Raises: ValueError that says which one cannot be carried out."""
    for field, items, carry_out in _RULE:
        for index, item in enumerate(items(overriders)):
            try:
                carry_out(document, item)
            except ValueError as error:
                raise ValueError(f"{field}[{index}]: {error}") from error


_RULE: Final[tuple[tuple[str, Callable[[Overriders], Iterable[Any]], Callable[[Document, Any], None]], ...]] = (
    ("imageOverrider", lambda rule: rule.image_overrider, override_images),
    ("commandOverrider", lambda rule: rule.command_overrider, lambda d, item: override_words(d, "command", item)),
    ("argsOverrider", lambda rule: rule.args_overrider, lambda d, item: override_words(d, "args", item)),
    ("labelsOverrider", lambda rule: rule.labels_overrider, lambda d, item: override_marks(d, "labels", item)),
    (
        "annotationsOverrider",
        lambda rule: rule.annotations_overrider,
        lambda d, item: override_marks(d, "annotations", item),
    ),
    ("fieldOverrider", lambda rule: rule.field_overrider, override_field),
    (
        "plaintext",
        lambda rule: rule.plaintext,
        lambda d, item: patch_document(d, item.path, item.operator, item.value),
    ),
)
"""The kinds of overriders, in the order in which a rule is carried out."""


def _check_identity(before: ReadOnlyManifest, after: Any) -> None:
    """Raises: ValueError when it is another object."""
    if _identity(after) != _identity(before):
        raise ValueError("an override cannot change apiVersion, kind, metadata.namespace or metadata.name")


def _identity(manifest: object) -> tuple[Any, ...]:
    names = ("apiVersion",), ("kind",), ("metadata", "namespace"), ("metadata", "name")
    return tuple(value_at(manifest, *path) for path in names)


def _told(overriders: Overriders) -> Manifest:
    """With a null for the value of an operation that has none, and keys in order, as Go prints them."""
    wire: Manifest = to_wire(overriders)
    fields = (
        operations for each in wire.get("fieldOverrider", ()) for operations in (each.get("json"), each.get("yaml"))
    )
    for item in chain(wire.get("plaintext", ()), *filter(None, fields)):
        item.setdefault("value", None)
    for field in ("labelsOverrider", "annotationsOverrider"):
        for item in wire.get(field, ()):
            item["value"] = dict(sorted(item["value"].items()))
    return wire
