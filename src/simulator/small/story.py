"""A finding as a short story that a person can read: what happened, and what is wrong at its end."""

from collections.abc import Iterator

from simulator.small.model import Plan, Problem, State, Step, Task
from simulator.small.search import Finding
from simulator.small.worlds import NAMES, SmallWorld

MOST_LINES = 40
WIDTH = 110

_PHRASES = {
    "cut": "{0} answers no more",
    "refuse": "{0} refuses our credential",
    "return": "{0} answers again",
    "taint": "someone taints {0} with maintenance:NoExecute",
    "untaint": "someone takes the taint off {0}",
    "probe": "Ready of {0} turns",
    "tainting": "the taints of {0} follow",
    "time": "a tick passes",
    "slow": "a tick passes, though there is something to do",
}
_BINDING_PHRASES = {
    "scale": "someone scales {0} to {1}",
    "update": "someone changes the template of {0}",
    "delete": "someone deletes {0}",
    "decide": "the scheduler decides on {0}",
    "render": "the Works of {0} follow",
}
_COPY_PHRASES = {
    "fail": "the Pods of {0} in {1} fail",
    "unwritten": "the Works of {0} follow, but the one of {1} cannot be written",
    "apply": "{1} applies {0}",
    "remove": "{1} removes {0}",
    "ready": "{0} is ready in {1}",
    "report": "{1} reports on {0}",
}
_ROUTINE_VERBS = frozenset(("render", "apply", "remove", "ready", "report", "tainting"))
"""Verbs of steps that may share a line with what comes before them."""


def tell(world: SmallWorld, finding: Finding) -> str:
    """The story, in at most `MOST_LINES` lines."""
    lines = [f"In the world {world.name!r}: {_placed(finding.start)}"]
    sentences = list(_sentences(finding))
    most = MOST_LINES - 2 - len(finding.problems)
    if len(sentences) > most:
        gap = len(sentences) - most + 1
        sentences = [*sentences[: most // 2], f"... {gap} lines more ...", *sentences[most // 2 + gap :]]
    lines += [f"  {sentence}" for sentence in sentences]
    return "\n".join([*lines, *map(_verdict, finding.problems)])


def _sentences(finding: Finding) -> Iterator[str]:
    """Sentences, one for each thing that matters; what follows by itself is told in the same line while there is
    room."""
    line, state = "", finding.start
    for step, after in finding.steps:
        phrase = _phrase(step) + _outcome(step, state, after)
        state = after
        if line and step.verb in _ROUTINE_VERBS and len(line) + len(phrase) < WIDTH:
            line = f"{line}; {phrase}"
            continue
        if line:
            yield line
        line = phrase
    if line:
        yield line


def _phrase(step: Step) -> str:
    verb, subject = step
    if verb in _BINDING_PHRASES:
        return _BINDING_PHRASES[verb].format(f"app{subject[0] + 1}", *subject[1:])
    if verb in _COPY_PHRASES:
        return _COPY_PHRASES[verb].format(f"app{subject[0] + 1}", NAMES[subject[1]])
    if verb == "brake":
        return "the brake is engaged" if subject[0] else "the brake is released"
    return _PHRASES[verb].format(*(NAMES[index] for index in subject))


def _outcome(step: Step, before: State, after: State) -> str:
    """Words for what a step changed, where its name does not say it."""
    if step.verb == "decide":
        return f": {_plan(after.bindings[step.subject[0]].plan)}"
    if step.verb in ("probe", "tainting"):
        seen = after.clusters[step.subject[0]].object
        taints = ", ".join(f"{taint.key.rpartition('/')[2]}:{taint.effect}" for taint in seen.taints)
        return f": {seen.ready}" if step.verb == "probe" else f": {taints or 'none'}"
    return ""


def _placed(state: State) -> str:
    return "; ".join(f"app{index + 1} {_plan(binding.plan)}" for index, binding in enumerate(state.bindings))


def _plan(plan: Plan) -> str:
    targets = ", ".join(f"{NAMES[cluster]}:{replicas}" for cluster, replicas in plan.targets) or "nowhere"
    leaving = f", leaving {', '.join(map(_task, plan.tasks))}" if plan.tasks else ""
    return f"{targets} of {plan.replicas}{leaving}"


def _task(task: Task) -> str:
    return NAMES[task.cluster] if task.replicas is None else f"{NAMES[task.cluster]}:{task.replicas}"


def _verdict(problem: Problem) -> str:
    return f"{problem.id} is broken: {problem.sentence}."
