"""One rule of an override policy: which clusters it means, what it carries out, and what is said of it.

A rule is made once for each state of a policy, and remembers what is asked of it again and again.

Karmada: pkg/util/overridemanager; same order of overriders.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from kubeapi.json_document import Document, parse_path
from leeward.api.cluster import Cluster
from leeward.api.override import ClusterOverridePolicy, OverridePolicy, Overriders
from leeward.api.policy import ClusterAffinity
from leeward.core.overrides.applied import render_applied
from leeward.core.overrides.commands import override_words
from leeward.core.overrides.embedded import override_field
from leeward.core.overrides.images import override_images
from leeward.core.overrides.marks import override_marks
from leeward.core.overrides.plaintext import patch_document
from leeward.core.scheduling.cluster_matching import affinity_matcher

AnyOverridePolicy = OverridePolicy | ClusterOverridePolicy
Step = tuple[str, int, Callable[[Document, Any], None], Any]
"""The field and the index of an overrider, what carries it out (and raises ValueError), and itself."""


@dataclass(frozen=True, eq=False)
class OverrideRule:
    """One rule of a policy; made once for each state of the policy. Without `target` it means all clusters."""

    policy: AnyOverridePolicy
    overriders: Overriders
    target: ClusterAffinity | None

    @cached_property
    def means(self) -> Callable[[Cluster], bool]:
        """Tells whether a cluster is meant."""
        return affinity_matcher(self.target) if self.target is not None else lambda _: True

    @cached_property
    def applied(self) -> str:
        """Record of the rule where it was carried out."""
        return render_applied(self.policy.name, self.overriders)

    @cached_property
    def goes_anywhere(self) -> bool:
        """Tells whether it names places by pointers, which may be those that say which object it is."""
        how = self.overriders
        return bool(how.plaintext or how.field_overrider or any(image.predicate for image in how.image_overrider))

    @cached_property
    def ignores_replicas(self) -> bool:
        """Tells whether it neither changes `spec.replicas` nor puts anything in the place of what holds them."""
        return all(_is_beside_replicas(item.path) for item in self.overriders.plaintext)

    @cached_property
    def steps(self) -> Sequence[Step]:
        """Overriders of the rule, in order."""
        return [
            (field, index, carry_out, overrider)
            for field, overriders_of, carry_out in _KINDS
            for index, overrider in enumerate(overriders_of(self.overriders))
        ]


Rules = tuple[OverrideRule, ...]
"""Rules of one policy, which has at least one."""


def rules_of(policy: AnyOverridePolicy) -> Rules:
    """The rules of a policy. Without any the older form is the only one."""
    spec = policy.spec
    if not spec.override_rules:
        return (OverrideRule(policy, spec.overriders or Overriders(), spec.target_cluster),)
    return tuple(OverrideRule(policy, rule.overriders, rule.target_cluster) for rule in spec.override_rules)


def _is_beside_replicas(pointer: str) -> bool:
    try:
        path = parse_path(pointer)
    except ValueError:
        return False
    return path[:2] != _REPLICAS[: len(path)]


_REPLICAS: Final = ["spec", "replicas"]
_KINDS: Final[tuple[tuple[str, Callable[[Overriders], Iterable[Any]], Callable[[Document, Any], None]], ...]] = (
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
