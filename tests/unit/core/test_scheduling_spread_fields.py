"""Spread fields: the API's closed set, what each of them means, and which constraint counts clusters."""

from typing import get_args, get_type_hints

import msgspec
import pytest

from leeward.api.cluster import Cluster
from leeward.api.policy import SpreadConstraint
from leeward.core.scheduling.spread_fields import (
    SpreadField,
    cluster_constraint,
    field_of,
    is_over_clusters,
    rules_of_field,
)
from tests.builders import cluster


def located(name: str) -> Cluster:
    spec = msgspec.structs.replace(cluster(name).spec, region="north", provider="ours", zones=("n1", "n2"))
    return msgspec.structs.replace(cluster(name), spec=spec)


def test_the_table_has_the_fields_of_the_api_and_no_other() -> None:
    accepted = get_args(get_type_hints(SpreadConstraint)["spread_by_field"])
    assert {*SpreadField, ""} == {*accepted}


@pytest.mark.parametrize(
    ("field", "groups", "lacking"),
    [
        (SpreadField.REGION, ("north",), "region"),
        (SpreadField.PROVIDER, ("ours",), "provider"),
        (SpreadField.ZONE, ("n1", "n2"), "zones"),
        (SpreadField.CLUSTER, ("a",), "name"),
    ],
)
def test_what_a_field_means(field: SpreadField, groups: tuple[str, ...], lacking: str) -> None:
    rules = rules_of_field(field)
    assert (rules.values(located("a")), rules.lacking) == (groups, lacking)
    assert rules.groups == (field is not SpreadField.CLUSTER)
    assert field_of(SpreadConstraint(spread_by_field=field.value)) is field
    assert is_over_clusters(SpreadConstraint(spread_by_field=field.value)) == (field is SpreadField.CLUSTER)


def test_a_constraint_by_a_label_has_no_field_and_counts_no_clusters() -> None:
    by_label = SpreadConstraint(spread_by_label="rack")
    assert field_of(by_label) is None
    assert not is_over_clusters(by_label)
    assert cluster_constraint([by_label]) is None


def test_of_several_constraints_on_clusters_the_last_one_counts() -> None:
    first, last = (SpreadConstraint(spread_by_field="cluster", min_groups=count) for count in (1, 2))
    by_region = SpreadConstraint(spread_by_field="region")
    assert cluster_constraint([first, last, by_region]) is last
