"""Whose certificate request is approved without a person."""

import pytest

from leeward.core.registration import is_asked_by_agent

AGENT, AGENTS, BOOTSTRAP = "system:karmada:agent:member1", "system:karmada:agents", "system:bootstrappers"
USAGES = ["client auth", "digital signature"]


@pytest.mark.parametrize(
    ("asker", "asker_groups"),
    [
        ("system:bootstrap:abcdef", [BOOTSTRAP, "system:authenticated"]),
        ("system:bootstrap:abcdef", [BOOTSTRAP, f"{BOOTSTRAP}:leeward:single-use"]),
        (AGENT, [AGENTS, "system:authenticated"]),
    ],
)
def test_a_bootstrap_token_and_the_agent_itself_may_ask_for_an_agents_name(asker: str, asker_groups: list[str]) -> None:
    assert is_asked_by_agent(AGENT, [AGENTS], USAGES, asker, asker_groups)


@pytest.mark.parametrize(
    ("wanted_user", "wanted_groups", "usages", "asker", "asker_groups"),
    [
        pytest.param(AGENT, [AGENTS], USAGES, "system:karmada:agent:member2", [AGENTS], id="another agent"),
        pytest.param(AGENT, [AGENTS], USAGES, "jane", ["system:authenticated"], id="somebody"),
        pytest.param(AGENT, [AGENTS], USAGES, AGENT, [], id="one who is only called so"),
        pytest.param(AGENT, [AGENTS, "system:masters"], USAGES, "b", [BOOTSTRAP], id="one group more"),
        pytest.param("admin", [AGENTS], USAGES, "b", [BOOTSTRAP], id="another name"),
        pytest.param(AGENT, [AGENTS], ["server auth"], "b", [BOOTSTRAP], id="another usage"),
    ],
)
def test_anything_else_waits_for_a_person(
    wanted_user: str, wanted_groups: list[str], usages: list[str], asker: str, asker_groups: list[str]
) -> None:
    assert not is_asked_by_agent(wanted_user, wanted_groups, usages, asker, asker_groups)
