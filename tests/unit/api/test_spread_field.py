"""Spread fields: the texts that a constraint may say are those of the table, and each says what a cluster is in."""

from typing import get_args

from kubeapi.meta import ObjectMeta
from leeward.api.cluster import Cluster, ClusterSpec
from leeward.api.spread_field import GROUP_FIELDS, SpreadField, SpreadFieldText, rules_of_field


def test_every_field_can_be_said_and_nothing_else() -> None:
    assert set(get_args(SpreadFieldText)) == {"", *SpreadField}


def test_a_cluster_says_which_groups_it_is_in() -> None:
    spec = ClusterSpec(sync_mode="Push", region="north", provider="home", zones=("z1", "z2"))
    cluster = Cluster(metadata=ObjectMeta(name="m1"), spec=spec)
    values = {field: rules_of_field(field).values(cluster) for field in SpreadField}
    assert values == {"region": ("north",), "provider": ("home",), "zone": ("z1", "z2"), "cluster": ("m1",)}


def test_only_a_cluster_is_a_group_by_itself() -> None:
    assert set(SpreadField) - set(GROUP_FIELDS) == {SpreadField.CLUSTER}
