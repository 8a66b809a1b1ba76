"""Rights of a bootstrap token, and what an agent may say of its own Cluster."""

from typing import Any

import pytest

from leeward.core.registration import (
    CertificateRequest,
    Joined,
    TokenUse,
    Verdict,
    annotations_of_use,
    clusters_of_token,
    problem_of_agents_cluster,
    problem_of_identity,
    rule_on_request,
    use_of,
)

AGENT, AGENTS, BOOTSTRAPPERS = "system:karmada:agent:", "system:karmada:agents", "system:bootstrappers"
FOR_EAST, FOR_WEST = f"{BOOTSTRAPPERS}:leeward:cluster:east", f"{BOOTSTRAPPERS}:leeward:cluster:west"
ONCE = f"{BOOTSTRAPPERS}:leeward:single-use"
MAKE_ONE = "make one for it: `leeward token create --cluster east`"
WAITS = (Verdict.WAITS, "", "")
UNKNOWN = (
    Verdict.WAITS,
    "TokenUnknown",
    "the Secret kube-system/bootstrap-token-abcdef of the bootstrap token is gone or cannot be read, so that nobody "
    f"knows what it was used for: {MAKE_ONE}, or approve the request by hand (`kubectl certificate approve`)",
)
APPROVED = (Verdict.APPROVED, "AutoApproved", "an agent asks for its own certificate")


def request(*groups: str, user: str = f"{AGENT}east", asker: str = "system:bootstrap:abcdef") -> CertificateRequest:
    """Request by a bootstrap token in these groups, for the agent of the cluster east."""
    return CertificateRequest(user, (AGENTS,), ("client auth",), asker, (BOOTSTRAPPERS, *groups), "u-1")


def another_use(message: str) -> tuple[Verdict, str, str]:
    return Verdict.DENIED, "TokenOfAnotherUse", f"the bootstrap token {message}: {MAKE_ONE}"


@pytest.mark.parametrize(
    ("asked", "use", "ruling"),
    [
        pytest.param(request(), TokenUse(), APPROVED, id="a token"),
        pytest.param(request(), None, UNKNOWN, id="a token whose use is not known"),
        pytest.param(request(), TokenUse("east", "u-0"), APPROVED, id="used for the same cluster"),
        pytest.param(
            request(),
            TokenUse("west", "u-0"),
            another_use("was used for the cluster west, and is not for east"),
            id="used for another",
        ),
        pytest.param(request(FOR_EAST), TokenUse(), APPROVED, id="bound to the cluster"),
        pytest.param(request(FOR_WEST, FOR_EAST), TokenUse(), APPROVED, id="bound to it and another"),
        pytest.param(
            request(FOR_WEST),
            TokenUse(),
            another_use("is for the cluster west, and not for east"),
            id="bound to another",
        ),
        pytest.param(
            request(FOR_WEST, f"{FOR_WEST}-2"),
            None,
            another_use("is for the cluster west, west-2, and not for east"),
            id="bound to others",
        ),
        pytest.param(request(ONCE), TokenUse(), APPROVED, id="for a single use, and unused"),
        pytest.param(request(ONCE), TokenUse("east", "u-1"), APPROVED, id="used for this very request"),
        pytest.param(
            request(ONCE),
            TokenUse("east", "u-0"),
            another_use("was for a single use, and is used up"),
            id="used for another request",
        ),
        pytest.param(request(ONCE), None, UNKNOWN, id="whether it was used is not known"),
        pytest.param(request(user="jane"), TokenUse(), WAITS, id="another name"),
        pytest.param(
            CertificateRequest(f"{AGENT}east", (AGENTS,), ("client auth",), "jane", ()),
            TokenUse(),
            WAITS,
            id="no token",
        ),
    ],
)
def test_a_token_makes_the_agent_of_one_cluster(
    asked: CertificateRequest, use: TokenUse | None, ruling: tuple[Verdict, str, str]
) -> None:
    assert rule_on_request(asked, ("north",), use) == ruling


def test_a_token_makes_no_agent_of_a_cluster_that_there_is() -> None:
    ruling = rule_on_request(request(), ("north", "east"), TokenUse())
    assert ruling == (
        Verdict.DENIED,
        "ClusterExists",
        "there is a cluster east already: "
        "give another name, or let it leave first (`leeward unregister east`, `leeward unjoin east`)",
    )
    renewal = CertificateRequest(f"{AGENT}east", (AGENTS,), ("client auth",), f"{AGENT}east", (AGENTS,))
    assert rule_on_request(renewal, ("north", "east"), None) == APPROVED


def test_the_use_of_a_token_is_read_as_it_was_written() -> None:
    assert use_of({}) == TokenUse("", "")
    written = annotations_of_use(request())
    assert written == {"leeward.dev/bootstrapped-cluster": "east", "leeward.dev/bootstrap-request": "u-1"}
    assert use_of(written) == TokenUse("east", "u-1")


def test_groups_say_to_which_clusters_a_token_is_bound() -> None:
    assert clusters_of_token([BOOTSTRAPPERS, FOR_EAST, ONCE, FOR_WEST, "system:authenticated"]) == ("east", "west")


OWN, OTHER = {"namespace": "karmada-es-east", "name": "s"}, {"namespace": "karmada-es-west", "name": "s"}
ELSEWHERE = "must be a Secret in the namespace karmada-es-east, or the Secret karmada-cluster/east"


@pytest.mark.parametrize(
    ("spec", "before", "problem"),
    [
        pytest.param({"syncMode": "Pull"}, {}, "", id="no secrets"),
        pytest.param({"syncMode": "Pull", "secretRef": OWN, "impersonatorSecretRef": OWN}, {}, "", id="its own"),
        pytest.param(
            {"syncMode": "Push"},
            {},
            'spec.syncMode: the agent of cluster "east" may only register it as Pull',
            id="Push",
        ),
        pytest.param({}, {}, 'spec.syncMode: the agent of cluster "east" may only register it as Pull', id="no mode"),
        pytest.param({"syncMode": "Pull", "secretRef": OTHER}, {}, f"spec.secretRef: {ELSEWHERE}", id="another's"),
        pytest.param(
            {"syncMode": "Pull", "secretRef": OWN, "impersonatorSecretRef": OTHER},
            {},
            f"spec.impersonatorSecretRef: {ELSEWHERE}-impersonator",
            id="another's for impersonation",
        ),
        pytest.param(
            {"syncMode": "Pull", "impersonatorSecretRef": OTHER},
            {"secretRef": OTHER},
            f"spec.impersonatorSecretRef: {ELSEWHERE}-impersonator",
            id="one that stood in the other field",
        ),
        pytest.param({"syncMode": "Pull", "secretRef": "s"}, {}, f"spec.secretRef: {ELSEWHERE}", id="no mapping"),
        pytest.param({"syncMode": "Pull", "secretRef": OTHER}, {"secretRef": OTHER}, "", id="one that was there"),
        pytest.param(
            {"syncMode": "Pull", "secretRef": OTHER, "impersonatorSecretRef": OTHER},
            {"secretRef": OTHER},
            f"spec.impersonatorSecretRef: {ELSEWHERE}-impersonator",
            id="one that was there, and a new one",
        ),
    ],
)
def test_an_agents_cluster_refers_to_its_own_secrets_alone(
    spec: dict[str, Any], before: dict[str, Any], problem: str
) -> None:
    assert problem_of_agents_cluster(spec, before, "east") == problem


def test_a_control_plane_that_joins_itself_is_told_the_way_out() -> None:
    joined = (Joined("east", "id-east", "Push"),)
    assert problem_of_identity("north", "id-own", joined, "id-own") == (
        "this cluster is the control plane itself, which cannot be a member of its own: give another cluster"
    )
    assert problem_of_identity("north", "id-east", joined) == (
        "this cluster has joined already, as east: use that one, or `leeward unjoin east` first"
    )


def test_a_token_makes_no_agent_of_a_name_whose_secrets_are_there() -> None:
    ruling = rule_on_request(request(), ("north",), TokenUse(), ("east-impersonator",))
    assert (ruling.verdict, ruling.reason) == (Verdict.DENIED, "SecretsExist")
    assert "`kubectl -n karmada-cluster delete secret east-impersonator`" in ruling.message
    assert " cluster east: " in ruling.message
    renewal = CertificateRequest(f"{AGENT}east", (AGENTS,), ("client auth",), f"{AGENT}east", (AGENTS,))
    assert rule_on_request(renewal, ("east",), None, ("east",)) == APPROVED
