"""Rights of a cluster's agent: Secrets that it has made, objects that are its own, what its Cluster refers to."""

from collections.abc import Mapping
from typing import Any

import pytest

from leeward.core.registration import (
    Joined,
    made_by_agent,
    namesakes_of_secrets,
    problem_of_agents_cluster,
    problem_of_agents_object,
    problem_of_identity,
    problem_of_secrets,
    secrets_of_agent,
    with_maker,
)

MARK = "leeward.dev/made-by-agent-of"
SPACE = "karmada-es-member1"


def secret(maker: str | None = None, data: str = "", string: str = "", **annotations: str) -> dict[str, Any]:
    marked = annotations if maker is None else {**annotations, MARK: maker}
    fields = {"data": {"token": data}} if data else {}
    texts = {"stringData": {"token": string}} if string else {}
    return {"metadata": {"name": "member1", "annotations": marked}, **fields, **texts}


@pytest.mark.parametrize(
    ("written", "before", "agent", "maker"),
    [
        (secret(data="a"), None, "member1", "member1"),
        (secret("member1", data="a"), None, "", ""),
        (secret(data="b"), secret("member1", data="a"), "member1", "member1"),
        (secret(data="b"), secret("member1", data="a"), "", ""),
        (secret(string="b"), secret("member1", data="a"), "", ""),
        (secret(data="a", string="b"), secret("member1", data="a"), "", ""),
        (secret(data="a", note="x"), secret("member1", data="a"), "", "member1"),
        (secret("member1", data="a"), secret(data="a"), "", ""),
        (secret("member1", data="b"), secret(data="a"), "member1", ""),
        (secret("member1"), {"metadata": {}}, "member1", ""),
        (secret("member1"), {}, "", ""),
    ],
    ids=[
        "an agent makes it", "another makes it", "its agent writes it", "another writes other data",
        "another writes text", "another adds text", "another notes something", "another marks it",
        "an agent marks what another has made", "no annotations", "no metadata",
    ],
)  # fmt: skip
def test_a_secret_is_its_agents_until_another_writes_other_data(
    written: Mapping[str, Any], before: Mapping[str, Any] | None, agent: str, maker: str
) -> None:
    assert made_by_agent(written, before, agent) == maker
    marked = with_maker(written, before, agent)
    others = {key: text for key, text in written["metadata"]["annotations"].items() if key != MARK}
    assert marked["metadata"]["annotations"] == ({**others, MARK: maker} if maker else others)
    assert {**marked, "metadata": None} == {**written, "metadata": None}
    assert marked["metadata"]["name"] == "member1"


def test_a_secret_without_a_mark_stays_as_it_was_written() -> None:
    bare = {"metadata": {"name": "a"}, "data": {}}
    assert with_maker(bare, None, "") == bare
    assert with_maker({"data": {}}, None, "member1") == {"data": {}, "metadata": {"annotations": {MARK: "member1"}}}


@pytest.mark.parametrize(
    ("name", "namesakes"),
    [
        ("a", ("a-impersonator",)),
        ("a-impersonator", ("a-impersonator-impersonator", "a")),
        ("-impersonator-a", ("-impersonator-a-impersonator",)),
    ],
)
def test_two_clusters_have_no_secrets_of_one_name(name: str, namesakes: tuple[str, ...]) -> None:
    assert namesakes_of_secrets(name) == namesakes
    assert secrets_of_agent(name) == (name, f"{name}-impersonator")
    joined = [Joined("beside", "id-0", "Push"), Joined(namesakes[-1], "id-1", "Push")]
    assert problem_of_identity(name, "id-9", joined) == (
        f"the Secrets of this cluster and of {namesakes[-1]} would have one name: give it another name"
    )


@pytest.mark.parametrize(
    ("name", "cluster_id", "problem"),
    [
        ("b", "id-2", ""),
        ("a", "id-1", ""),
        ("b", "", ""),
        ("b", "hub", "this cluster is the control plane itself"),
        ("b", "id-1", "this cluster has joined already, as a: use that one, or `"),
    ],
)
def test_a_cluster_joins_once_and_is_not_the_control_plane(name: str, cluster_id: str, problem: str) -> None:
    found = problem_of_identity(name, cluster_id, [Joined("a", "id-1", "Push"), Joined("c", "", "Push")], "hub")
    assert found.startswith(problem)
    assert bool(found) is bool(problem)


def test_secrets_of_another_are_named_one_by_one() -> None:
    assert problem_of_secrets("a", ("a", "a-impersonator")).endswith(
        "(`kubectl -n karmada-cluster delete secret a a-impersonator`)"
    )
    assert " cluster a: " in problem_of_secrets("a", ())


@pytest.mark.parametrize(
    ("resource", "namespace", "name", "is_own"),
    [
        ("secrets", "karmada-cluster", "member1", True),
        ("secrets", "karmada-cluster", "member1-impersonator", True),
        ("secrets", "karmada-cluster", "member2", False),
        ("secrets", SPACE, "anything", True),
        ("secrets", "default", "member1", False),
        ("events", "default", "member1.17", True),
        ("events", "default", "member10.17", False),
        ("events", "karmada-system", "karmada-agent-member1.17", True),
        ("events", "karmada-system", "member1.17", False),
        ("events", SPACE, "web.17", True),
        ("events", "kube-system", "member1.17", False),
        ("leases", "karmada-system", "karmada-agent-member1", True),
        ("leases", "karmada-system", "karmada-agent-member2", False),
        ("leases", "karmada-cluster", "member1", True),
        ("leases", "karmada-cluster", "member2", False),
        ("leases", "karmada-system", "member1", False),
    ],
)
def test_the_objects_of_an_agent_are_those_that_belong_to_its_cluster(
    resource: str, namespace: str, name: str, *, is_own: bool
) -> None:
    problem = 'the agent of cluster "member1" may only touch what belongs to that cluster'
    assert problem_of_agents_object("member1", resource, namespace, name) == ("" if is_own else problem)


def referring(field: str, namespace: str, name: str) -> dict[str, Any]:
    return {"syncMode": "Pull", field: {"namespace": namespace, "name": name}}


@pytest.mark.parametrize(
    ("spec", "before", "problem"),
    [
        ({"syncMode": "Pull"}, {}, ""),
        ({"syncMode": "Push"}, {}, 'spec.syncMode: the agent of cluster "member1" may only register it as Pull'),
        ({}, {}, 'spec.syncMode: the agent of cluster "member1" may only register it as Pull'),
        (referring("secretRef", SPACE, "any"), {}, ""),
        (referring("secretRef", "karmada-cluster", "member1"), {}, ""),
        (referring("impersonatorSecretRef", "karmada-cluster", "member1-impersonator"), {}, ""),
        (referring("secretRef", "karmada-cluster", "member2"), {}, "secretRef"),
        (referring("secretRef", "default", "member1"), {}, "secretRef"),
        (referring("impersonatorSecretRef", "karmada-cluster", "member1"), {}, "impersonatorSecretRef"),
        (referring("secretRef", "default", "old"), referring("secretRef", "default", "old"), ""),
        (
            {**referring("secretRef", SPACE, "any"), **referring("impersonatorSecretRef", "default", "x")},
            {},
            "impersonatorSecretRef",
        ),
    ],
    ids=[
        "none", "Push", "no mode", "its own space", "its credentials", "its impersonator", "another's credentials",
        "another namespace", "the wrong one", "as it was", "only one is its own",
    ],
)  # fmt: skip
def test_an_agents_cluster_refers_to_no_secrets_of_others(
    spec: Mapping[str, Any], before: Mapping[str, Any], problem: str
) -> None:
    found = problem_of_agents_cluster(spec, before, "member1")
    secrets = {"secretRef": "member1", "impersonatorSecretRef": "member1-impersonator"}
    if problem in secrets:
        problem = (
            f"spec.{problem}: must be a Secret in the namespace {SPACE}, "
            f"or the Secret karmada-cluster/{secrets[problem]}"
        )
    assert found == problem
