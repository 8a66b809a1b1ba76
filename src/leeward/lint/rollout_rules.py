"""Rules about the stages of a rollout: those that no cluster is in, and plans that hold nothing back."""

from collections.abc import Collection, Iterator, Mapping

from leeward.api.cluster import Cluster
from leeward.api.failback import OptionFault
from leeward.api.policy import PropagationSpec
from leeward.api.rollout import NOT_STAGED, ROLLOUT_ANNOTATION, RolloutStage, RolloutStrategy, parse_rollout
from leeward.core.rollout.rollout_decision import Standing
from leeward.core.rollout.stages import clusters_by_stage
from leeward.core.rollout.state import RolloutSight
from leeward.lint.findings import Diagnostic
from leeward.lint.picture import LintPicture
from leeward.lint.placements import allowed_clusters, clusters_to_judge

CHOICE = "name clusters that its placement allows, or take the stage away"


def stages_in_vain(picture: LintPicture) -> Iterator[Diagnostic]:
    for policy in picture.policies:
        text = policy.policy.metadata.annotations.get(ROLLOUT_ANNOTATION)
        for said, mend in _faults(picture, policy.policy.spec, text) if text is not None else ():
            yield Diagnostic(policy.source, f"{policy} {said}", ("metadata", "annotations", ROLLOUT_ANNOTATION), mend)


def _faults(picture: LintPicture, spec: PropagationSpec, text: str) -> Iterator[tuple[str, str]]:
    """Faults of one plan, each with its mend."""
    try:
        strategy = parse_rollout(text)
    except OptionFault as error:
        yield f"has stages that cannot be read, so that no change goes anywhere: {error}", ""
        return
    if kinds := sorted({each.kind for each in spec.resource_selectors} & {*NOT_STAGED}):
        yield f"selects {', '.join(kinds)}: changes of such objects reach all clusters at once, without stages", ""
    known = clusters_to_judge(spec.placement, picture.fleet)
    if known is not None and (allowed := allowed_clusters(spec.placement, known)):
        is_whole = picture.fleet is not None or all(stage.selector is None for stage in strategy.stages)
        yield from _of_clusters(strategy, {name: known[name] for name in allowed}, is_whole=is_whole)


def _of_clusters(
    strategy: RolloutStrategy, allowed: Mapping[str, Cluster], *, is_whole: bool
) -> Iterator[tuple[str, str]]:
    """Faults by the clusters that the placement allows; without their labels not `is_whole`."""
    rows = {n: Standing("", RolloutSight.SERVING, labels=each.metadata.labels) for n, each in allowed.items()}
    taken = set[str]()
    for stage, names in clusters_by_stage(strategy, rows, "new"):
        if stage not in strategy.stages:
            if names and is_whole:
                said = f"has stages that leave out {', '.join(names)}: these clusters come last, all in one stage"
                yield said, f"give the plan a last stage, as in `- name: {stage.name}`, that takes all that are left"
            continue
        if said := _empty(stage, names, allowed) if is_whole or stage.clusters else "":
            yield f"has a stage {stage.name} {said}", CHOICE
        if not taken and len(names) == len(allowed) <= stage.may_be_unavailable(len(names)) and len(allowed) > 1:
            yield (
                f"has a stage {stage.name} in which all {len(names)} clusters get a change at once",
                "lower its maxUnavailable, or put a stage with fewer clusters before it",
            )
        taken |= {*names}


def _empty(stage: RolloutStage, names: Collection[str], allowed: Collection[str]) -> str:
    """Rest of a sentence about clusters that a stage asks for and does not get; empty where it gets all."""
    asked = [name for name in stage.clusters or () if name not in names]
    if foreign := [name for name in asked if name not in allowed]:
        return f"that names {', '.join(foreign)}, which has not joined, or which its placement does not allow"
    if asked:
        return f"that names {', '.join(asked)}, which an earlier stage has"
    if names:
        return ""
    if stage.share is not None:
        return "with a share of none: earlier stages have all clusters"
    return "whose selector matches no cluster that is left" if stage.selector is not None else ""
