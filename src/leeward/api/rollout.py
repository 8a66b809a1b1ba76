"""The rollout strategy that a policy gives by the annotation `leeward.dev/rollout`: stages in which a change of a
template, or of its override policies, reaches the clusters.

    stages:
    - name: canary
      clusters: [member1]          # or clusterSelector: {matchLabels: {...}}, or share: 25%
      healthyFor: 10m              # of uninterrupted service with the revision, before the next stage
      pause: true                  # then a person decides: `leeward rollout resume`
    - name: rest                   # without a choice: all other clusters
      maxUnavailable: 2            # clusters of the application that may not serve at once; a number, or a share
    progressDeadline: 10m          # after which a cluster that does not serve has failed
    onFailure: Rollback            # or Stop, the default

Clusters that no stage takes come last, in a stage of their own.
"""

import re
from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Any

import msgspec

from kubeapi.codec import DecodeError, parse_first_yaml
from kubeapi.meta import LabelSelector, Object
from leeward.api.failback import OptionFault, parse_duration

ROLLOUT_ANNOTATION = "leeward.dev/rollout"
"""Annotation on a policy and its bindings: the stages in which a change reaches the clusters, as YAML (ours)."""
ROLLOUT_STATE_ANNOTATION = "leeward.dev/rollout-state"
"""Annotation on such a binding: the revision on its way, the proven one, and how far it is, as JSON (ours)."""
ROLLOUT_REVISIONS_ANNOTATION = "leeward.dev/rollout-revisions"
"""Annotation on such a binding: the contents of these revisions, packed (ours)."""
ROLLOUT_PAUSED_ANNOTATION = "leeward.dev/rollout-paused"
"""Annotation on such a binding: `true` keeps each cluster at the revision that it has (ours)."""
ROLLOUT_APPROVED_ANNOTATION = "leeward.dev/rollout-approved"
"""Annotation on such a binding: the stage that a person has approved, as `REVISION/STAGE` (ours)."""
ROLLOUT_UNDONE_ANNOTATION = "leeward.dev/rollout-undone"
"""Annotation on such a binding: the revision that a person has taken back (ours)."""
REVISION_ANNOTATION = "leeward.dev/revision"
"""Annotation on a Work of such a binding: the revision that it was made of (ours)."""
ROLLOUT_CONDITION = "leeward.dev/Rollout"
"""Condition on a binding with a rollout strategy, and on its template: True while not all clusters have the revision
that is asked for, with the reason (ours)."""

NOT_STAGED = ("Secret",)
"""Kinds whose contents are not copied into the binding, and so reach all clusters at once."""
MOST_STAGES, MOST_CHARACTERS = 50, 16_384
REST = "rest"
"""Name of the stage of clusters that no stage takes."""
_SHARE = re.compile(r"([1-9]\d?|100)%")
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


class OnFailure(StrEnum):
    STOP = "Stop"
    ROLLBACK = "Rollback"


class _Stage(Object, frozen=True, forbid_unknown_fields=True):
    """Stage on the wire."""

    name: str = ""
    clusters: tuple[str, ...] | None = None
    cluster_selector: LabelSelector | None = None
    share: str | None = None
    healthy_for: str = "1m"
    max_unavailable: int | str = 1
    pause: bool = False


class _Strategy(Object, frozen=True, forbid_unknown_fields=True):
    """Strategy on the wire."""

    stages: tuple[_Stage, ...] = ()
    progress_deadline: str = "10m"
    on_failure: OnFailure = OnFailure.STOP


class RolloutStage(msgspec.Struct, frozen=True):
    """`share` is a percentage of all clusters of the application. Without `clusters`, `selector` and `share` the stage
    takes all that are left. `unavailable` is a number of clusters, or with `is_share` a percentage of those of the
    stage."""

    name: str
    clusters: tuple[str, ...] | None = None
    selector: LabelSelector | None = None
    share: int | None = None
    healthy_seconds: int = 60
    unavailable: int = 1
    is_share: bool = False
    pause: bool = False

    def may_be_unavailable(self, clusters: int) -> int:
        """Number of clusters that may not serve while this stage, of so many `clusters`, is updated; at least one."""
        return max(1, clusters * self.unavailable // 100) if self.is_share else self.unavailable


class RolloutStrategy(msgspec.Struct, frozen=True):
    stages: tuple[RolloutStage, ...]
    deadline_seconds: int = 600
    on_failure: OnFailure = OnFailure.STOP


@lru_cache(maxsize=256)
def parse_rollout(text: str) -> RolloutStrategy:
    """The strategy of an annotation. Raises: OptionFault, which names the field."""
    if len(text) > MOST_CHARACTERS:
        raise _fault(f"has {len(text)} characters, and may have {MOST_CHARACTERS}: name clusters by a label instead")
    try:
        found: Any = parse_first_yaml(text)
        asked = msgspec.convert(found, _Strategy)
    except (ValueError, DecodeError) as error:
        raise _fault(f"cannot be read: {error}; it is YAML with stages, progressDeadline and onFailure") from error
    if not 1 <= len(asked.stages) <= MOST_STAGES:
        raise _fault(f"stages: must have from 1 to {MOST_STAGES} stages")
    stages = tuple(_stage(index, stage) for index, stage in enumerate(asked.stages))
    _check_names([stage.name for stage in stages])
    for index, stage in enumerate(stages[:-1]):
        if stage.clusters is None and stage.selector is None and stage.share is None:
            fault = "takes all clusters that are left, and comes before others: give it clusters, or put it last"
            raise _fault(f"stages[{index}]: {fault}")
    return RolloutStrategy(stages, _seconds("progressDeadline", asked.progress_deadline), asked.on_failure)


def _stage(index: int, asked: _Stage) -> RolloutStage:
    path, name = f"stages[{index}]", asked.name or f"stage-{index + 1}"
    if not _NAME.fullmatch(name):
        raise _fault(f"{path}.name: must be lower case letters, digits and '-', at most 63 of them")
    if sum(choice is not None for choice in (asked.clusters, asked.cluster_selector, asked.share)) > 1:
        raise _fault(f"{path}: only one of clusters, clusterSelector and share may be set")
    if asked.clusters is not None and not asked.clusters:
        raise _fault(f"{path}.clusters: must name a cluster")
    unavailable, is_share = _amount(f"{path}.maxUnavailable", asked.max_unavailable)
    return RolloutStage(
        name,
        asked.clusters,
        asked.cluster_selector,
        _share(f"{path}.share", asked.share),
        _seconds(f"{path}.healthyFor", asked.healthy_for),
        unavailable,
        is_share,
        asked.pause,
    )


def _check_names(names: Sequence[str]) -> None:
    for index, name in enumerate(names):
        if name in names[:index]:
            raise _fault(f"stages[{index}].name: {name} is the name of an earlier stage")


def _amount(path: str, value: int | str) -> tuple[int, bool]:
    if isinstance(value, str):
        return _share(path, value) or 0, True
    if value < 1:
        raise _fault(f"{path}: must be a number from 1, or a share from 1% to 100%")
    return value, False


def _share(path: str, text: str | None) -> int | None:
    if text is None:
        return None
    if not _SHARE.fullmatch(text):
        raise _fault(f"{path}: must be a share from 1% to 100%, as in 25%")
    return int(text[:-1])


def _seconds(path: str, text: str) -> int:
    try:
        return parse_duration(ROLLOUT_ANNOTATION, text)
    except OptionFault as error:
        raise _fault(f"{path}: {error.fault}") from error


def _fault(message: str) -> OptionFault:
    return OptionFault(ROLLOUT_ANNOTATION, message)
