"""Conflict resolution: the API's closed set, whose wish counts, and what is taken over."""

from typing import Any, Literal, get_args, get_type_hints

import pytest

from kubeapi.meta import ObjectMeta
from leeward.api.policy import PropagationSpec
from leeward.api.work import BindingResource, ResourceBindingSpec, Work
from leeward.core.execution.conflict_resolution import (
    ConflictResolution,
    conflict_resolution,
    conflict_rules_of,
    may_overwrite,
)

ANNOTATION = "work.karmada.io/conflict-resolution"
ABORT, OVERWRITE = ConflictResolution.ABORT, ConflictResolution.OVERWRITE


@pytest.mark.parametrize("spec", [ResourceBindingSpec, PropagationSpec])
def test_the_table_has_the_ways_of_the_api_and_no_other(spec: type) -> None:
    assert {*ConflictResolution, ""} == {*get_args(get_type_hints(spec)["conflict_resolution"])}


@pytest.mark.parametrize(
    ("wish", "said", "counts"),
    [
        ("overwrite", "Abort", OVERWRITE),
        ("abort", "Overwrite", ABORT),
        (None, "Overwrite", OVERWRITE),
        ("Overwrite", "", ABORT),
        (7, "Overwrite", OVERWRITE),
        (None, "", ABORT),
    ],
)
def test_a_templates_wish_comes_before_its_policys(
    wish: object, said: Literal["", "Abort", "Overwrite"], counts: ConflictResolution
) -> None:
    resource = BindingResource(api_version="v1", kind="ConfigMap", name="a")
    spec = ResourceBindingSpec(resource=resource, conflict_resolution=said)
    template = {"metadata": {"annotations": {} if wish is None else {ANNOTATION: wish}}}
    assert conflict_resolution(spec, template) is counts


@pytest.mark.parametrize(
    ("annotations", "takes_over"),
    [
        ({ANNOTATION: OVERWRITE.annotation}, True),
        ({ANNOTATION: ABORT.annotation}, False),
        ({ANNOTATION: "Overwrite"}, False),
        ({}, False),
    ],
)
def test_only_what_a_work_says_in_so_many_words_is_taken_over_s6(annotations: dict[str, str], takes_over: bool) -> None:
    work = Work(metadata=ObjectMeta(name="a", annotations=annotations))
    assert conflict_rules_of(work).takes_over is takes_over


@pytest.mark.parametrize(
    ("wish", "observed", "may"),
    [
        (OVERWRITE, {"metadata": {}}, True),
        (OVERWRITE, {"metadata": {"annotations": {"example.com/a": "b"}}}, True),
        (OVERWRITE, {"metadata": {"annotations": {"work.karmada.io/name": "theirs"}}}, False),
        (ABORT, {"metadata": {}}, False),
        (ABORT, {"metadata": {"annotations": {"work.karmada.io/name": "theirs"}}}, False),
    ],
    ids=["nobody's", "a user's", "another Work's", "without a word", "another Work's, without a word"],
)
def test_s6_what_is_there_is_taken_over_where_it_is_wished_and_no_other_work_has_made_it(
    wish: ConflictResolution, observed: dict[str, Any], *, may: bool
) -> None:
    work = Work(metadata=ObjectMeta(name="a", annotations={ANNOTATION: wish.annotation}))
    assert may_overwrite(work, observed) is may
