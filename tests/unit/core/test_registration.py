"""Certificate requests that are approved without a person."""

import pytest

from leeward.core.registration import (
    CertificateRequest,
    TokenUse,
    Verdict,
    cluster_of_agent,
    is_agent,
    problem_of_agents_object,
    rule_on_request,
)

AGENT, AGENTS, BOOTSTRAP = "system:karmada:agent:member1", "system:karmada:agents", "system:bootstrappers"
TOKEN = "system:bootstrap:abcdef"
USAGES = ("client auth", "digital signature")


def request(
    asker: str,
    asker_groups: tuple[str, ...],
    user: str = AGENT,
    groups: tuple[str, ...] = (AGENTS,),
    usages: tuple[str, ...] = USAGES,
) -> CertificateRequest:
    return CertificateRequest(user, groups, usages, asker, asker_groups, "uid-1")


@pytest.mark.parametrize(
    ("asker", "asker_groups"),
    [
        (TOKEN, (BOOTSTRAP, "system:authenticated")),
        (TOKEN, (BOOTSTRAP, f"{BOOTSTRAP}:leeward:single-use")),
        (AGENT, (AGENTS, "system:authenticated")),
    ],
)
def test_a_bootstrap_token_and_the_agent_itself_may_ask_for_an_agents_name(
    asker: str, asker_groups: tuple[str, ...]
) -> None:
    assert rule_on_request(request(asker, asker_groups), (), TokenUse()).verdict is Verdict.APPROVED


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param(request("system:karmada:agent:member2", (AGENTS,)), id="another agent"),
        pytest.param(request("jane", ("system:authenticated",)), id="somebody"),
        pytest.param(request(AGENT, ()), id="one who is only called so"),
        pytest.param(request(TOKEN, (BOOTSTRAP,), groups=(AGENTS, "system:masters")), id="one group more"),
        pytest.param(request(TOKEN, (BOOTSTRAP,), user="admin"), id="another name"),
        pytest.param(request(TOKEN, (BOOTSTRAP,), usages=("server auth",)), id="another usage"),
        pytest.param(request("jane", (BOOTSTRAP,)), id="the group of tokens without a token"),
        pytest.param(request(TOKEN, ()), id="a name of a token without its group"),
    ],
)
def test_anything_else_waits_for_a_person(asked: CertificateRequest) -> None:
    assert rule_on_request(asked, (), TokenUse()).verdict is Verdict.WAITS


@pytest.mark.parametrize("group", ["single-use", "cluster:member1", "other"])
@pytest.mark.parametrize("joined", [(), ("member1",)])
def test_nothing_is_approved_or_denied_while_the_use_of_its_token_is_unknown(
    group: str, joined: tuple[str, ...]
) -> None:
    ruling = rule_on_request(request(TOKEN, (BOOTSTRAP, f"{BOOTSTRAP}:leeward:{group}")), joined, None)
    assert (ruling.verdict, ruling.reason) == (Verdict.WAITS, "TokenUnknown")
    assert "kube-system/bootstrap-token-abcdef" in ruling.message
    assert "leeward token create --cluster member1" in ruling.message


def test_a_token_of_another_cluster_is_denied_whether_its_use_is_known_or_not() -> None:
    bound = request(TOKEN, (BOOTSTRAP, f"{BOOTSTRAP}:leeward:cluster:member2"))
    for use in (None, TokenUse()):
        assert rule_on_request(bound, (), use).reason == "TokenOfAnotherUse"


def test_an_agent_renews_its_certificate_without_any_token() -> None:
    renewal = request(AGENT, (AGENTS, "system:authenticated"))
    assert rule_on_request(renewal, ("member1",), None).verdict is Verdict.APPROVED


@pytest.mark.parametrize(
    ("resource", "namespace", "name", "own"),
    [
        ("clusters", "", "member1", True),
        ("clusters", "", "member2", False),
        ("leases", "karmada-cluster", "member1", True),
        ("leases", "karmada-cluster", "member2", False),
        ("leases", "kube-system", "member1", False),
        ("works", "karmada-es-member1", "a", True),
        ("works", "karmada-es-member2", "a", False),
        ("certificatesigningrequests", "", "whatever", True),
    ],
)
def test_an_agent_touches_what_belongs_to_its_cluster(resource: str, namespace: str, name: str, own: bool) -> None:
    assert (problem_of_agents_object("member1", resource, namespace, name) == "") is own
    assert problem_of_agents_object("", resource, namespace, name) != ""


def test_only_a_name_with_the_prefix_of_agents_is_an_agents() -> None:
    assert cluster_of_agent("system:karmada:agent:member1") == "member1"
    assert cluster_of_agent("member1") == ""
    assert is_agent(["system:karmada:agents"])
    assert not is_agent(["system:karmada:agents", "system:masters"])
