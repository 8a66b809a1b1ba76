"""Comparison of a Work with the template that it was made of, which may be an earlier one under the same name."""

import msgspec
import pytest

from leeward.api.names import TEMPLATE_UID_ANNOTATION
from leeward.api.work import Work, WorkloadTemplate, WorkSpec
from leeward.core.execution.works import is_of_earlier_template, is_of_same_template
from tests.builders import binding, duplicated, targets


@pytest.mark.parametrize(
    ("made", "wanted", "is_earlier"),
    [("", "", False), ("one", "", False), ("", "two", False), ("one", "one", False), ("one", "two", True)],
)
def test_a_work_is_of_an_earlier_template_where_both_say_so(made: str, wanted: str, is_earlier: bool) -> None:
    old, new = ({"metadata": {"annotations": {TEMPLATE_UID_ANNOTATION: uid}}} for uid in (made, wanted))
    work = Work(spec=WorkSpec(workload=WorkloadTemplate(manifests=(old,))))
    bound = binding(duplicated(), 1, targets(member1=1))
    resource = msgspec.structs.replace(bound.spec.resource, uid=wanted)
    bound = msgspec.structs.replace(bound, spec=msgspec.structs.replace(bound.spec, resource=resource))
    assert is_of_earlier_template(work, bound) == is_earlier
    assert is_of_same_template(work, {"spec": {"workload": {"manifests": [new]}}}) != is_earlier
