"""Objects of a later state of their Work: what would take replicas from them after a restore waits."""

import msgspec
import pytest

from kubeapi.meta import Manifest
from leeward.api.names import WORK_GENERATION_ANNOTATION, WORK_ID_LABEL
from leeward.api.work import Work
from leeward.core.execution.work_generation import is_shrunk_by_a_restore
from tests.builders import work


def copy(replicas: int | None, generation: str | None, work_id: str | None = "id") -> Manifest:
    labels = {WORK_ID_LABEL: work_id} if work_id is not None else {}
    annotations = {WORK_GENERATION_ANNOTATION: generation} if generation is not None else {}
    spec = {"replicas": replicas} if replicas is not None else {}
    return {"metadata": {"name": "web", "labels": labels, "annotations": annotations}, "spec": spec}


def of_generation(generation: int) -> Work:
    made = work("member1", 3)
    return msgspec.structs.replace(made, metadata=msgspec.structs.replace(made.metadata, generation=generation))


@pytest.mark.parametrize(
    ("observed", "waits"),
    [
        (copy(3, "5"), True),
        (copy(3, "4"), False),
        (copy(3, "3"), False),
        (copy(2, "5"), False),
        (copy(1, "5"), False),
        (copy(None, "5"), False),
        (copy(3, None), False),
        (copy(3, "later"), False),
        (copy(3, "9" * 5_000), False),
        (copy(3, "5", "another"), False),
        (copy(3, "5", None), False),
    ],
    ids=[
        "loses replicas",
        "of this generation",
        "of an earlier one",
        "keeps them",
        "gains some",
        "has none",
        "without a generation",
        "with an unreadable one",
        "with thousands of digits",
        "of another Work",
        "of no known Work",
    ],
)
def test_s1_what_a_later_state_has_given_is_not_taken_by_one_of_before(observed: Manifest, *, waits: bool) -> None:
    assert is_shrunk_by_a_restore(observed, copy(2, None), of_generation(4)) is waits


def test_a_work_without_an_identity_is_not_known_to_be_the_same() -> None:
    assert not is_shrunk_by_a_restore(copy(3, "5", None), copy(2, None, None), of_generation(4))
