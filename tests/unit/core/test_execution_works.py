"""Comparison of a Work with the template that it was made of, which may be an earlier one under the same name."""

import msgspec
import pytest

from kubeapi.meta import ObjectMeta
from leeward.api.names import TEMPLATE_UID_ANNOTATION
from leeward.api.work import Work, WorkloadTemplate, WorkSpec
from leeward.core.execution.works import is_of_deleted_template, is_of_wanted_template
from tests.builders import at, binding, duplicated, targets


@pytest.mark.parametrize(
    ("made", "wanted", "is_earlier"),
    [("", "", False), ("one", "", False), ("", "two", False), ("one", "one", False), ("one", "two", True)],
)
def test_a_work_is_of_an_earlier_template_where_both_say_so(made: str, wanted: str, is_earlier: bool) -> None:
    old, new = ({"metadata": {"annotations": {TEMPLATE_UID_ANNOTATION: uid}}} for uid in (made, wanted))
    spec = WorkSpec(workload=WorkloadTemplate(manifests=(old,)))
    works = [Work(metadata=ObjectMeta(deletion_timestamp=when), spec=spec) for when in (at(10), at(11), None)]
    bound = binding(duplicated(), 1, targets(member1=1))
    resource = msgspec.structs.replace(bound.spec.resource, uid=wanted)
    metadata = msgspec.structs.replace(bound.metadata, creation_timestamp=at(10))
    spec_of_it = msgspec.structs.replace(bound.spec, resource=resource)
    bound = msgspec.structs.replace(bound, spec=spec_of_it, metadata=metadata)
    found = [is_of_deleted_template(work, bound) for work in works]
    assert found == [is_earlier, False, False], "what is asked for later has another reason"
    assert is_of_wanted_template(works[0], {"spec": {"workload": {"manifests": [new]}}}) != is_earlier
