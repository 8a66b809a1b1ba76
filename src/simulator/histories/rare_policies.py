"""Rare situations of policies that take over and policies that wait, and of quotas."""

from collections.abc import Iterator

from controller_runtime import Key
from leeward.api.meta import find_condition
from leeward.api.rollout import ROLLOUT_CONDITION
from leeward.api.work import ResourceBinding
from simulator.histories.checkers.claims import claim_of, contents_of, is_lazy, policy_of
from simulator.histories.checkers.quotas import EXCEEDED, limit_of, refusal_in, used_in
from simulator.histories.checkers.scene import tasks_of
from simulator.histories.ground_truth import BINDINGS, HOME, KINDS, POLICIES, QUOTAS, Change, GroundTruth
from simulator.histories.model import Replan, Retreat, Step

CLAIMS_REACHED = (
    "a policy takes over what another has claimed",
    "a policy takes over in the middle of an eviction",
    "what was taken over goes back to its first policy",
    "a lazy policy waits for a change of its template",
    "a lazy policy takes effect in the middle of an eviction",
)
QUOTAS_REACHED = (
    "a quota refuses what is wanted",
    "what a quota has refused is placed",
    "what a quota refuses more of is evicted",
    "a quota is lowered below what is used",
    "a cluster has the limit that it is assigned",
    "a cluster is assigned no limit any more",
)
ROLLOUTS_REACHED = (
    "a change has gone through all its stages",
    "a change stops while a cluster is away",
    "a bad change stops",
    "a change that was taken back is gone from all clusters",
    "a person holds a change",
)
POLICIES_REACHED = (*CLAIMS_REACHED, *QUOTAS_REACHED)
_TURNS = {
    "ClusterOutage": ROLLOUTS_REACHED[1],
    "Failed": ROLLOUTS_REACHED[2],
    "RolledBack": ROLLOUTS_REACHED[2],
    "Undone": ROLLOUTS_REACHED[3],
    "Paused": ROLLOUTS_REACHED[4],
}


def of_step(truth: GroundTruth, step: Step) -> Iterator[str]:
    """Situations of a step as it begins."""
    if isinstance(step, Retreat) and any(key.name == step.name for key in truth.of(POLICIES[0])):
        yield "what was taken over goes back to its first policy"
    if isinstance(step, Replan) and step.plan.lazy and any(k.name.startswith(f"{step.app}-") for k in truth.bindings):
        yield "a lazy policy waits for a change of its template"


def of_change(truth: GroundTruth, change: Change) -> Iterator[str]:
    if change.kind == QUOTAS and change.new is not None:
        if change.old is not None and limit_of(change.new) < min(
            limit_of(change.old), used_in(truth, change.key.namespace)
        ):
            yield "a quota is lowered below what is used"
    elif change.kind == KINDS["ResourceQuota"] and change.place != HOME:
        if change.old is None:
            yield "a cluster has the limit that it is assigned"
        elif change.new is None:
            yield "a cluster is assigned no limit any more"
    elif change.kind == BINDINGS[0] and change.old is not None and change.new is not None:
        yield from _of_binding(truth, change.old, change.new)
    elif change.place == HOME and change.kind in KINDS.values() and change.old is not None and change.new is not None:
        yield from _of_template(truth, change)


def _of_template(truth: GroundTruth, change: Change) -> Iterator[str]:
    before, after = claim_of(change.old), claim_of(change.new)
    kind = next(name for name, prefix in KINDS.items() if prefix == change.kind)
    binding = truth.any_binding(Key(change.key.namespace, f"{change.key.name}-{kind.lower()}"))
    is_evicted = binding is not None and bool(tasks_of(binding))
    if before and after and before != after and policy_of(truth, change.old) is not None:
        yield "a policy takes over what another has claimed"
        if is_evicted:
            yield "a policy takes over in the middle of an eviction"
    policy = policy_of(truth, change.new)
    if policy is not None and is_lazy(policy) and is_evicted and contents_of(change.old) != contents_of(change.new):
        yield "a lazy policy takes effect in the middle of an eviction"


def _of_binding(truth: GroundTruth, old: ResourceBinding, new: ResourceBinding) -> Iterator[str]:
    yield from _of_rollout(old, new)
    before, after = refusal_in(old), refusal_in(new)
    if after == EXCEEDED and before != EXCEEDED:
        yield "a quota refuses what is wanted"
    if before == EXCEEDED and after == "" and len(truth.of(QUOTAS)):
        yield "what a quota has refused is placed"
    if after == EXCEEDED and set(tasks_of(new)) - set(tasks_of(old)):
        yield "what a quota refuses more of is evicted"


def _of_rollout(old: ResourceBinding, new: ResourceBinding) -> Iterator[str]:
    before, after = (find_condition(each.status.conditions, ROLLOUT_CONDITION) for each in (old, new))
    if before is None or after is None or before.reason == after.reason:
        return
    if after.reason == "Complete":
        yield ROLLOUTS_REACHED[0]
    elif after.reason in _TURNS:
        yield _TURNS[after.reason]
