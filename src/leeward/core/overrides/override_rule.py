"""One rule of an override policy: which clusters it means, what it carries out, and what is said of it.

A rule is made once for each state of a policy, and remembers what is asked of it again and again.

Karmada: pkg/util/overridemanager; same order of overriders.
Same kinds of workloads; init containers and ephemeral ones are not changed. A label or an annotation that is not there
is neither replaced nor removed."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import groupby
from typing import Any, Final, Literal, cast

from msgspec import structs

from kubeapi.json_document import Document, parse_path
from kubeapi.meta import Manifest
from kubeapi.unstructured import value_at
from leeward.api.cluster import Cluster
from leeward.api.override import (
    ClusterOverridePolicy,
    CommandArgsOverrider,
    LabelAnnotationOverrider,
    OverridePolicy,
    Overriders,
    PlaintextOverrider,
)
from leeward.api.policy import ClusterAffinity
from leeward.core.overrides.applied import render_applied
from leeward.core.overrides.effort import Effort, Steps, naming, units_of
from leeward.core.overrides.embedded import override_fields
from leeward.core.overrides.images import override_image_at, override_image_of
from leeward.core.overrides.plaintext import patch_document
from leeward.core.scheduling.cluster_matching import affinity_matcher

_TEMPLATE = ("spec", "template", "spec", "containers")
CONTAINERS: Final[Mapping[str, tuple[str, ...]]] = {
    "Pod": ("spec", "containers"),
    "Deployment": _TEMPLATE,
    "ReplicaSet": _TEMPLATE,
    "DaemonSet": _TEMPLATE,
    "StatefulSet": _TEMPLATE,
    "Job": _TEMPLATE,
}
"""Paths of the containers, by kind; of other kinds nothing is known."""


Overrider = tuple[str, int, Callable[[Any, Any, Effort], None], Any]
"""Field and index of an overrider, its change (which raises ValueError) of a container or the document, and itself."""


def override_containers(changes: Sequence[Overrider], document: Document, effort: Effort) -> Steps[None]:
    """Makes all changes of each container, in order, in one pass. Raises: ValueError that names the overrider."""
    where = CONTAINERS.get(document.root.get("kind"))
    if where is None or not isinstance(value_at(document.root, *where), list):
        return
    containers: list[Any] = document.own(list(where))
    for place, container in enumerate(containers):
        with naming(*changes[0][:2]):
            effort.spend(len(changes))
            if not isinstance(container, dict):
                raise ValueError(f"the container {place} is no mapping")
        owned: Manifest = document.own_item(containers, place)
        for field, index, change, overrider in changes:
            with naming(field, index):
                change(owned, overrider, effort)
        yield


def override_words(
    field: Literal["command", "args"], container: Manifest, overrider: CommandArgsOverrider, effort: Effort
) -> None:
    """Changes a container of the overrider's name. Raises: ValueError when the field is no list."""
    if container.get("name") != overrider.container_name:
        return
    before: Any = container.get(field)
    if before is not None and not isinstance(before, list):
        raise ValueError(f"{field} of the container {overrider.container_name} is no list")
    words = cast(list[Any], before or [])
    effort.spend(len(words) + units_of(overrider.value))
    if overrider.operator == "add":
        container[field] = [*words, *overrider.value]
    else:
        gone = set(overrider.value)
        container[field] = [word for word in words if word not in gone]


def override_marks(
    field: Literal["labels", "annotations"], document: Document, overrider: LabelAnnotationOverrider, effort: Effort
) -> None:
    """Raises: ValueError when there are no metadata."""
    effort.spend(units_of(overrider.value.values()))
    present: Any = document.field(["metadata", field])
    if present is not None and not isinstance(present, dict):
        raise ValueError(f"metadata.{field} is no mapping")
    if present is None:
        if overrider.operator != "add":
            return
        document.insert(["metadata", field], {})
    marks: Any = document.own(["metadata", field])
    for key, value in overrider.value.items():
        if overrider.operator == "add" or (overrider.operator == "replace" and key in marks):
            marks[key] = value
        elif overrider.operator == "remove":
            marks.pop(key, None)


AnyOverridePolicy = OverridePolicy | ClusterOverridePolicy
Step = Callable[[Document, Effort], Steps[None]]
"""Carries out one overrider, or several, with pauses. It raises a ValueError that names the overrider."""
_REPLICAS: Final = ["spec", "replicas"]


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
    def count(self) -> int:
        """Number of its overriders."""
        return sum(map(len, structs.astuple(self.overriders)))

    @cached_property
    def steps(self) -> Sequence[Step]:
        """Steps of the rule, in order."""
        return [*_steps_of(self.overriders)]


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


def _steps_of(how: Overriders) -> Iterator[Step]:
    """Steps of a rule: overriders of containers go through these together, and those of fields read each text once."""
    of_containers = [
        *_all("imageOverrider", how.image_overrider, override_image_of),
        *_all("commandOverrider", how.command_overrider, partial(override_words, "command")),
        *_all("argsOverrider", how.args_overrider, partial(override_words, "args")),
    ]
    for names_place, run in groupby(of_containers, lambda each: getattr(each[3], "predicate", None) is not None):
        if names_place:
            yield from (_alone(field, index, override_image_at, each) for field, index, _, each in run)
        else:
            yield partial(override_containers, [*run])
    for overrider in (
        *_all("labelsOverrider", how.labels_overrider, partial(override_marks, "labels")),
        *_all("annotationsOverrider", how.annotations_overrider, partial(override_marks, "annotations")),
    ):
        yield _alone(*overrider)
    if how.field_overrider:
        yield partial(override_fields, how.field_overrider)
    for overrider in _all("plaintext", how.plaintext, _override_place):
        yield _alone(*overrider)


def _all(field: str, overriders: Sequence[Any], change: Callable[[Any, Any, Effort], None]) -> list[Overrider]:
    return [(field, index, change, each) for index, each in enumerate(overriders)]


def _alone(field: str, index: int, change: Callable[[Any, Any, Effort], None], overrider: Any) -> Step:
    def carry_out(document: Document, effort: Effort) -> Steps[None]:
        with naming(field, index):
            change(document, overrider, effort)
        yield

    return carry_out


def _override_place(document: Document, overrider: PlaintextOverrider, effort: Effort) -> None:
    effort.spend(1)
    patch_document(document, overrider.path, overrider.operator, overrider.value)
