"""Users for whom the cluster proxy may speak in a member, by the roles and bindings of the control plane."""

from typing import Any

import pytest

from leeward.core import impersonation
from leeward.core.impersonation import MOST_NAMES, Impersonated, impersonation_rules, users_of_proxy

JANE = {"kind": "User", "name": "jane"}


def role(name: str, **rule: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "rules": [rule]}


def binding(name: str, *subjects: dict[str, str], kind: str = "ClusterRole") -> dict[str, Any]:
    return {"metadata": {"name": name}, "roleRef": {"kind": kind, "name": name}, "subjects": list(subjects)}


def rule(
    groups: tuple[str, ...] = ("cluster.karmada.io",),
    resources: tuple[str, ...] = ("clusters/proxy",),
    verbs: tuple[str, ...] = ("get",),
    names: tuple[str, ...] = (),
) -> dict[str, Any]:
    return {"apiGroups": list(groups), "resources": list(resources), "verbs": list(verbs), "resourceNames": list(names)}


@pytest.mark.parametrize(
    ("given", "counts"),
    [
        pytest.param(rule(), True, id="the proxy by its name"),
        pytest.param(rule(resources=("pods", "clusters/proxy")), True, id="among others"),
        pytest.param(rule(resources=("*/proxy",)), True, id="every proxy"),
        pytest.param(rule(groups=("*",)), True, id="the proxy of every group"),
        pytest.param(rule(resources=("*",)), True, id="everything of the group"),
        pytest.param(rule(names=("east", "west")), True, id="of this cluster among others"),
        pytest.param(rule(names=("*",)), True, id="of all clusters together"),
        pytest.param(rule(names=("west",)), False, id="of another cluster"),
        pytest.param(rule(groups=("*",), resources=("*",)), False, id="everything there is"),
        pytest.param(rule(resources=("clusters",)), False, id="the Cluster itself"),
        pytest.param(rule(groups=("apps",)), False, id="another group"),
        pytest.param(rule(groups=("apps",), resources=("*",)), False, id="everything of another group"),
        pytest.param(rule(verbs=()), False, id="no verb"),
        pytest.param({"nonResourceURLs": ["*"], "verbs": ["*"]}, False, id="paths"),
        pytest.param({"apiGroups": "cluster.karmada.io", "resources": 7, "verbs": ["get"]}, False, id="no rule"),
    ],
)
def test_a_role_counts_that_names_the_proxy_of_the_cluster(given: dict[str, Any], counts: bool) -> None:
    found = users_of_proxy([role("r", **given)], [binding("r", JANE)], "east")
    assert found == (Impersonated(("jane",)) if counts else Impersonated())


def test_subjects_of_every_kind_are_named_once_and_sorted() -> None:
    account = {"kind": "ServiceAccount", "name": "deployer", "namespace": "ci"}
    subjects = ({"kind": "User", "name": "zoe"}, JANE, JANE, {"kind": "Group", "name": "dev"}, account)
    found = users_of_proxy([role("r", **rule())], [binding("r", *subjects)], "east")
    groups = ("dev", "system:serviceaccounts", "system:serviceaccounts:ci")
    assert found == Impersonated(("jane", "zoe"), groups, ("deployer",))
    assert impersonation_rules(found) == [
        {"apiGroups": [""], "resources": [plural], "resourceNames": names, "verbs": ["impersonate"]}
        for plural, names in (
            ("users", ["jane", "zoe"]),
            ("groups", list(groups)),
            ("serviceaccounts", ["deployer"]),
        )
    ]


def test_a_binding_of_another_role_hides_none_that_come_after_it() -> None:
    bindings = [binding("other", JANE), binding("r", {"kind": "User", "name": "zoe"})]
    assert users_of_proxy([role("r", **rule())], bindings, "east") == Impersonated(("zoe",))


@pytest.mark.parametrize("group", ["system:masters", "system:authenticated", "system:unauthenticated"])
def test_a_group_that_is_everybody_or_everything_is_never_spoken_for(group: str) -> None:
    found = users_of_proxy([role("r", **rule())], [binding("r", {"kind": "Group", "name": group})], "east")
    assert impersonation_rules(found) == []


@pytest.mark.parametrize(
    "bound",
    [
        binding("other", JANE),
        binding("r", JANE, kind="Role"),
        binding("r", {"kind": "Robot", "name": "jane"}),
        binding("r", {"kind": "User", "name": ""}),
        {"metadata": {"name": "r"}, "roleRef": {"kind": "ClusterRole", "name": "r"}, "subjects": None},
        {"metadata": {"name": "r"}},
    ],
)
def test_other_bindings_name_nobody(bound: dict[str, Any]) -> None:
    assert users_of_proxy([role("r", **rule())], [bound], "east") == Impersonated()


def test_more_names_than_a_role_can_hold_are_refused_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST_NAMES == 5_000
    monkeypatch.setattr(impersonation, "MOST_NAMES", 2)
    assert impersonation_rules(Impersonated(("a", "b")))
    with pytest.raises(ValueError, match="3 users may use its proxy, more than 2: give that right to fewer"):
        impersonation_rules(Impersonated(("a", "b", "c")))
