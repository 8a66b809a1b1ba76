"""Rules about groups that move together: those that keep nobody together."""

from collections import defaultdict
from collections.abc import Iterator

from kubeapi.meta import annotations_of
from leeward.api.gates import GATE_ANNOTATIONS
from leeward.api.moves_with import MOVES_WITH_ANNOTATION, name_fault
from leeward.core.moving_together import MOST_MEMBERS, NOT_IN_ONE, keeps_in_one_cluster
from leeward.lint.findings import Diagnostic
from leeward.lint.objects import ClaimedTemplate, LintObject
from leeward.lint.picture import LintPicture

_PATH = ("metadata", "annotations", MOVES_WITH_ANNOTATION)


def groups_in_vain(picture: LintPicture) -> Iterator[Diagnostic]:
    """Finds each fault once, whatever number of templates has it."""
    groups = defaultdict[tuple[str, str], list[ClaimedTemplate]](list)
    for claim in picture.claimed:
        if (name := claim.binding.metadata.annotations.get(MOVES_WITH_ANNOTATION)) is not None:
            groups[claim.binding.namespace, name].append(claim)
    found = dict[tuple[LintObject, str], Diagnostic]()
    for members in groups.values():
        for claim in members:
            is_own = MOVES_WITH_ANNOTATION in annotations_of(claim.template.manifest)
            source = claim.template if is_own else claim.policy.source
            for said in _faults(claim, members):
                found.setdefault((source, said), Diagnostic(source, f"{source} {said}", _PATH))
    yield from found.values()


def _faults(claim: ClaimedTemplate, members: list[ClaimedTemplate]) -> Iterator[str]:
    annotation = f"has {MOVES_WITH_ANNOTATION}, which"
    if fault := name_fault(claim.binding.metadata.annotations):
        yield f"{annotation} has no effect: {fault}"
    elif not claim.binding.namespace:
        yield f"{annotation} has no effect: {claim.template} is in no namespace, as a group is"
    elif not keeps_in_one_cluster(claim.binding.spec.placement):
        yield f"{annotation} {NOT_IN_ONE}"
    elif len(members) > MOST_MEMBERS:
        yield f"{annotation} has no effect: its group has {len(members)} members, and {MOST_MEMBERS} is the most"
    elif other := next((each for each in members if _gates_of(each) != _gates_of(claim)), None):
        yield f"{annotation} does not wait for the gates of {other.template}: give both the same leeward.dev/wait-for"


def _gates_of(claim: ClaimedTemplate) -> list[str | None]:
    return [claim.binding.metadata.annotations.get(name) for name in GATE_ANNOTATIONS]
