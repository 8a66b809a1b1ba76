"""Reading inside manifests that may hold anything, and what the pods in them ask for."""

from types import MappingProxyType
from typing import Any

from kubeapi.unstructured import mapping_at, pick, text_at
from leeward.api.work import AggregatedStatusItem
from leeward.core.interpreter.fields import total
from leeward.core.interpreter.pod_template import pod_request


def test_what_a_pod_asks_for_of_what_is_counted() -> None:
    requests = {
        "cpu": "250m",
        "hugepages-2Mi": "4Mi",
        "attachable-volumes-aws-ebs": "2",
        "a.example/gpu": "1",
        "pods": "1",
    }
    assert dict(pod_request({"containers": [{"resources": {"requests": requests}}]})) == {
        "cpu": 250,
        "hugepages-2Mi": 4 << 20,
        "attachable-volumes-aws-ebs": 2,
        "a.example/gpu": 1,
    }


def test_any_mapping_is_read_and_what_is_none_counts_as_absent() -> None:
    frozen = MappingProxyType({"status": MappingProxyType({"phase": "Bound"})})
    assert mapping_at(frozen, "status") == {"phase": "Bound"}
    assert text_at(frozen, "status", "phase") == "Bound"
    assert text_at({"status": "Bound"}, "status", "phase") == ""


def test_what_says_nothing_is_not_picked() -> None:
    source: dict[str, Any] = {
        "none": None,
        "zero": 0,
        "text": "",
        "list": [],
        "mapping": {},
        "said": "yes",
        "not asked for": "yes",
    }
    assert pick(source, ("none", "zero", "text", "list", "mapping", "said", "missing")) == {"said": "yes"}


def test_a_sum_of_zero_is_told_where_it_is_required() -> None:
    reported = [AggregatedStatusItem("m", status) for status in ({"a": 1, "b": 0}, {"a": 2}, None)]
    assert total(reported, ("a", "b", "c"), required=("b",)) == {"a": 3, "b": 0}
