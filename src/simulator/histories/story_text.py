"""Text of a history as a short story that a person can read, with the command that replays it."""

from collections.abc import Mapping

from simulator.histories.model import (
    AgentIsKilled,
    AnyStep,
    ApiServerIsKilled,
    Autoscale,
    BreakOverride,
    BreakScript,
    ClockIsWrong,
    ControllersAreKilled,
    CutOff,
    Deploy,
    Drain,
    Explain,
    Fault,
    HubIsRestored,
    HubIsSuspended,
    LeaderIsPaused,
    LimitUsage,
    Maintain,
    Meddle,
    MemberComesBackOld,
    MemberFlaps,
    MemberHangs,
    MemberIsKilled,
    MemberIsSlow,
    MemberIsUnready,
    MemberLies,
    MemberLosesData,
    MemberRefusesWrites,
    MemberShrinks,
    MemberStops,
    NodesAreCordoned,
    Override,
    Own,
    Partition,
    Plan,
    Preempt,
    Provide,
    Read,
    Rebalance,
    Recreate,
    RecreatePolicy,
    Rejoin,
    Relabel,
    Release,
    Replan,
    RestartPod,
    Retreat,
    Scale,
    ShardIsPaused,
    Share,
    Squat,
    SteerRollout,
    Storm,
    Suspend,
    SyncClusters,
    TaintOnOutage,
    Trouble,
    TwoLeaders,
    UnlimitUsage,
    Unoverride,
    Unshare,
    Withdraw,
)
from simulator.histories.playing import Run


def tell(run: Run, replay: str) -> str:
    """The story of a run: the fleet, what happened, and what did not hold. `replay` is the command."""
    history = run.history
    fleet = ", ".join(f"{name} ({mode})" for name, mode in history.members)
    lines = [f"Seed {history.seed}, timings {history.pace}: {fleet}."]
    if history.sync_seconds:
        lines.append(f"A commit of the control plane's store takes {history.sync_seconds:g} s.")
    if history.revisions:
        lines.append(f"The control plane can be watched from the last {history.revisions} revisions only.")
    if history.evictions_per_second:
        lines.append(f"No more than {history.evictions_per_second:g} evictions per second are wanted.")
    lines += [f"{step.at:9.3f}  {tell_step(step)}" for step in history.steps]
    lines.append(f"{history.ends_at:9.3f}  Everything works again.")
    lines += [f"{violation.seconds:9.3f}  {violation.invariant}: {violation.message}" for violation in run.violations]
    if not run.violations:
        lines.append(f"{run.seconds:9.3f}  Every invariant held, and the world is quiet.")
    lines += [f"{run.writes} writes, trace {run.trace_hash}", f"Replay: {replay}"]
    return "\n".join(lines)


def tell_step(step: AnyStep) -> str:
    """One sentence."""
    if isinstance(step, Fault):
        return f"{_fault(step)}, for {step.lasts:g} s."
    return f"A user {_wish(step)}."


def _wish(step: AnyStep) -> str:
    match step:
        case Deploy():
            what = _what(step)
            size = f", {step.cpu} CPUs each" if step.cpu > 1 else ""
            reads = f", naming {', '.join(step.reads)}" if step.reads else ""
            return f"deploys {what} {step.app}{size}{reads}, {_plan(step.plan)}"
        case Scale():
            return f"scales {step.app} to {step.replicas}"
        case Release():
            return f"releases {'the broken ' if step.bad else ''}version {step.version} of {step.app}"
        case Replan():
            return f"wants {step.app} {_plan(step.plan)}"
        case Withdraw():
            return f"deletes {step.app} and its policy"
        case Recreate():
            return f"deletes {step.app}, and makes another one with {step.replicas} replicas"
        case RecreatePolicy():
            return f"deletes the policy of {step.app}, and makes it again"
        case Rebalance():
            return f"has {step.app} rebalanced"
        case Relabel():
            return f"puts the label {step.value} on {step.app}"
        case Suspend():
            return f"suspends {step.what} of {step.app} for {step.lasts:g} s"
        case _:
            return _administration(step)


def _what(step: Deploy) -> str:
    if step.config:
        return "the ConfigMap"
    if step.operated:
        return "the Database with a claim" if step.operated == "claiming" else "the Database"
    if step.job:
        return f"the {step.job} of {step.seconds} s"
    return f"{step.replicas} replicas of{' the Batch' * step.scripted}{' the autoscaled' * step.autoscaled}"


def _administration(step: AnyStep) -> str:
    match step:
        case Maintain():
            return f"sets a NoExecute taint on {step.cluster} for {step.lasts:g} s"
        case Drain():
            budget = f", {step.budget} bindings at a time" if step.budget else ""
            return f"drains {step.cluster} for {step.lasts:g} s{budget}"
        case SyncClusters():
            often = f"every {step.every:g} s" if step.every else "once"
            taint = " with a taint of their own" if step.own else " without taints"
            where = f"{', '.join(step.clusters)}{taint}"
            return f"has a git tool write {where} by {step.how}, {often}, for {step.lasts:g} s"
        case TaintOnOutage():
            return "wants NoExecute by a policy as long as a cluster is not Ready"
        case Share():
            groups = f", on {step.groups[0]} to {step.groups[1]} clusters" if step.groups[1] else ""
            return f"shares the {step.what} {step.app} over {', '.join(step.clusters)}{groups}"
        case Unshare():
            return f"deletes what was shared as {step.app}"
        case Own():
            return f"puts something of their own into {step.app} in {step.cluster}"
        case RestartPod():
            return f"deletes a Pod of {step.app} in {step.cluster}"
        case _:
            return _meddling(step)


def _meddling(step: AnyStep) -> str:
    match step:
        case Rejoin():
            return f"has {step.cluster} leave, and join again"
        case Meddle():
            return f"{'deletes' if step.delete else 'changes'} the copy of {step.app} in {step.cluster} by hand"
        case Autoscale():
            return f"has an autoscaler want {step.replicas} replicas of {step.app} in {step.cluster}"
        case Squat():
            return f"makes {step.named or 'an object'} named {step.app} in {step.cluster} by hand"
        case _:
            return _maintenance(step)


def _maintenance(step: AnyStep) -> str:
    match step:
        case Override():
            where = ", ".join(step.clusters)
            size = f" with {step.replicas} replicas" if step.replicas else ""
            return f"has {_policy(step.name, step.wide)} make version {step.version} of {step.app}{size} in {where}"
        case BreakOverride():
            return f"breaks {_policy(step.name, step.wide)} for {step.lasts:g} s"
        case Explain():
            return f"has version {step.version} of the scripts explain Batches"
        case BreakScript():
            return f"changes the script for {step.question}: it {_TROUBLES[step.trouble]}, for {step.lasts:g} s"
        case Provide():
            beside = f", with a policy for {', '.join(step.clusters)}" if step.clusters else ""
            return f"makes version {step.version} of the {step.what} {step.name}{beside}"
        case Read():
            return f"has {step.app} name {', '.join(step.reads) or 'nothing'}"
        case Unoverride():
            return f"deletes {_policy(step.name, step.wide)}"
        case _:
            return _rule(step)


def _rule(step: AnyStep) -> str:
    match step:
        case Preempt():
            asks = "takes over" if step.preempts else "claims what nobody has claimed"
            name = f"{step.name}, of priority {step.priority}, which {asks},"
            return f"has the policy {name} want {step.app} {_plan(step.plan)}"
        case Retreat():
            return f"deletes the policy {step.name}"
        case LimitUsage():
            where = f", with limits in {', '.join(step.assigned)}" if step.assigned else ""
            return f"allows {step.cpu} CPUs to all applications{where}"
        case SteerRollout():
            return f"says {step.wish} to the rollout of {step.app}"
        case UnlimitUsage():
            return "deletes the quota"
        case _:
            raise AssertionError(f"there are no words for {step}")


_TROUBLES: Mapping[Trouble, str] = {"fails": "fails", "endless": "does not end", "absurd": "makes no sense"}


def _policy(name: str, wide: bool) -> str:
    return f"the {'ClusterOverridePolicy' if wide else 'OverridePolicy'} {name}"


def _plan(plan: Plan) -> str:
    shares = zip(plan.clusters, plan.weights, strict=True) if plan.weights else None
    where = ", ".join(f"{name} (weight {weight})" for name, weight in shares) if shares else ", ".join(plan.clusters)
    groups = f", on {plan.groups[0]} to {plan.groups[1]} clusters" if plan.groups[1] else ""
    patience = f", tolerating for {plan.toleration_seconds} s" if plan.toleration_seconds else ""
    directly = ", Directly" if plan.directly else ""
    terms = f", as {plan.terms} {'overlapping ' * plan.overlap}affinity terms" if plan.terms > 1 else ""
    back = ", with failback" if plan.failback else ""
    failing = f", leaving where it fails for {plan.application_seconds} s" if plan.application_seconds else ""
    deps = ", with what it names" if plan.follows else ""
    lazy = ", when the template changes" if plan.lazy else ""
    stays = ", preserved" if plan.preserve else ""
    return f"{plan.division} over {where}{groups}{directly}{patience}{terms}{back}{failing}{deps}{lazy}{stays}"


def _fault(step: AnyStep) -> str:
    match step:
        case MemberStops():
            return f"{step.member} stops"
        case MemberIsKilled():
            return f"The API server of {step.member} is killed {step.steps} awaits later"
        case MemberHangs():
            return f"{step.member} hangs"
        case MemberIsSlow():
            return f"{step.member} answers {step.seconds:g} s late"
        case MemberIsUnready():
            return f"{step.member} says that it is not ready"
        case MemberLosesData():
            return f"{step.member} stops, and comes back empty"
        case MemberComesBackOld():
            return f"{step.member} stops half-way, and comes back with what it holds now"
        case MemberFlaps():
            return f"{step.member} is cut off and back every {step.period:g} s"
        case _:
            return _member_inside(step)


def _member_inside(step: AnyStep) -> str:
    match step:
        case MemberShrinks():
            return f"{step.member} restarts with {step.nodes} nodes"
        case NodesAreCordoned():
            return f"{step.member} has no node for new Pods"
        case MemberRefusesWrites():
            return f"{step.member} refuses every write with {step.code}"
        case MemberLies():
            return f"{step.member} claims absurd numbers"
        case _:
            return _plumbing(step)


def _plumbing(step: AnyStep) -> str:
    match step:
        case AgentIsKilled():
            return f"The agent of {step.member} is killed {step.steps} awaits later"
        case Partition():
            return f"{step.who} cannot reach {step.whom}"
        case CutOff():
            return "The control plane is cut off from all members"
        case ControllersAreKilled():
            return f"The controllers are killed {step.steps} awaits later"
        case HubIsSuspended():
            return "The controllers stand still"
        case TwoLeaders():
            return "A second set of controllers works beside the first"
        case LeaderIsPaused() | ShardIsPaused():
            return _election(step)
        case ApiServerIsKilled():
            power = ", with a power cut" if step.power_cut else ""
            return f"The control plane's API server is killed {step.steps} awaits later{power}"
        case HubIsRestored():
            who = "API server" if step.controllers_stay else "API server and the controllers"
            late = f", the controllers for {step.controllers_after:g} s more" if step.controllers_after else ""
            down = f"the {who} are gone for the last {step.down_seconds:g} s{late}"
            return f"The control plane comes back with what it holds now ({down})"
        case ClockIsWrong():
            return f"The clock of {step.who} is {step.seconds:+g} s wrong"
        case Storm():
            return f"Network faults from {step.who} to {step.whom} ({_profile(step)})"
        case _:
            raise AssertionError(f"there are no words for {step}")


def _election(step: LeaderIsPaused | ShardIsPaused) -> str:
    pause = f"paused after {step.after:g} s for {step.pause_seconds:g} s"
    if isinstance(step, LeaderIsPaused):
        return f"Two replicas of the controllers elect a leader, which is {pause}"
    other = "one that leaves them nothing" if step.undivided else "another one"
    return f"A leader, beside {other}, leaves work to two shards, each beside another candidate; {step.who} is {pause}"


def _profile(step: Storm) -> str:
    parts = {
        f"{step.rate:.0%} of requests {' or '.join(step.mishaps)}": step.rate,
        f"lines up to {step.lag_seconds:g} s late": step.lag_seconds,
        f"{step.repeats:.0%} of lines twice": step.repeats,
        f"streams break at {step.breaks:.0%} of lines": step.breaks,
        f"the stream breaks at line {step.break_at}": step.break_at,
        f"the read number {step.stale_at} that can be is stale": step.stale_at,
        f"requests up to {step.jitter_seconds:g} s slower": step.jitter_seconds,
    }
    return "; ".join(text for text, amount in parts.items() if amount) or "none"
