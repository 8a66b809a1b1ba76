"""The condition `leeward.dev/Refused`: why a binding is not carried out, or not everywhere."""

from collections.abc import Mapping, Sequence

from kubeapi.status import Problem
from leeward.api.meta import Condition
from leeward.api.names import REFUSED_CONDITION

TEMPLATE_OUT_OF_REACH, WORK_OF_ANOTHER_BINDING = "TemplateOutOfReach", "WorkOfAnotherBinding"
MAX_MESSAGE_CHARACTERS = 1_024


def out_of_reach(problems: Sequence[Problem]) -> Condition:
    """Condition of a binding that names a template which it may not name; there is at least one problem."""
    told = "; ".join(map(str, problems))
    return _refused(TEMPLATE_OUT_OF_REACH, f"{told}. Nothing is done for this binding: correct it, or delete it.")


def works_taken(taken: Mapping[str, str]) -> Condition | None:
    """Condition of a binding whose Works, by cluster, are another's, with whose; None where there are none."""
    clusters: dict[str, list[str]] = {}
    for cluster, why in sorted(taken.items()):
        clusters.setdefault(why, []).append(cluster)
    told = "; ".join(f"in {', '.join(names)} {why}" for why, names in clusters.items())
    return _refused(WORK_OF_ANOTHER_BINDING, f"Left alone: {told}. Delete one of the two.") if told else None


def _refused(reason: str, message: str) -> Condition:
    if len(message) > MAX_MESSAGE_CHARACTERS:
        message = message[: MAX_MESSAGE_CHARACTERS - 3] + "..."
    return Condition(REFUSED_CONDITION, "True", reason, message)
