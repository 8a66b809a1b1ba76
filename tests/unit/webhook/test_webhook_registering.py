"""An agent joins over no Secrets that others have made, also where the API server is not ours."""

import base64
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest
from kubeclient import Client
from leeward.api.defaulting import DefaultingSettings
from leeward.api.names import AGENT_GROUP, AGENT_MADE_ANNOTATION, AGENT_USER_PREFIX, CLUSTER_NAMESPACE
from leeward.webhook.reviews import mutate
from leeward.webhook.store_rules import SECONDS, judge_registering
from tests.kubeserver.api_world import api_world
from tests.transports import Deaf
from tests.verdicts import assert_judged, assert_not_told

SECRETS = f"/api/v1/namespaces/{CLUSTER_NAMESPACE}/secrets"
OWN = {AGENT_MADE_ANNOTATION: "member1"}
AGENT = {"username": f"{AGENT_USER_PREFIX}member1", "groups": [AGENT_GROUP, "system:authenticated"]}
SOMEBODY = {"username": "somebody", "groups": ["system:authenticated"]}
SETTINGS = DefaultingSettings(now=datetime(2026, 1, 1, tzinfo=UTC), new_uid=lambda: "uid")


def secret(name: str, annotations: Mapping[str, str] | None = None, token: str = "YQ==") -> Manifest:
    metadata = {"name": name, **({"annotations": dict(annotations)} if annotations else {})}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {"token": token}}


def request(who: Manifest, operation: str = "CREATE") -> dict[str, Any]:
    cluster = {"metadata": {"name": "member1"}, "spec": {"syncMode": "Pull"}}
    return {"operation": operation, "userInfo": who, "object": cluster, "resource": {"resource": "clusters"}}


@pytest.mark.parametrize(
    ("there", "asked", "says"),
    [
        ((), request(AGENT), ""),
        ((secret("member1", OWN), secret("member1-impersonator", OWN)), request(AGENT), ""),
        ((secret("member2"),), request(AGENT), ""),
        ((secret("member1"),), request(SOMEBODY), ""),
        ((secret("member1"),), request(AGENT, "UPDATE"), ""),
        ((secret("member1"),), request(AGENT), "`kubectl -n karmada-cluster delete secret member1`"),
        (
            (secret("member1", OWN), secret("member1-impersonator")),
            request(AGENT),
            "delete secret member1-impersonator",
        ),
        ((secret("member1", {AGENT_MADE_ANNOTATION: "b"}),), request(AGENT), "holds credentials that may be those of"),
    ],
)
def test_an_agent_joins_only_over_secrets_that_it_has_made(
    there: tuple[Manifest, ...], asked: dict[str, Any], says: str
) -> None:
    async def story() -> None:
        async with api_world() as world:
            await world.create("/api/v1/namespaces", {"metadata": {"name": CLUSTER_NAMESPACE}})
            for each in there:
                await world.create(SECRETS, each)
            assert_judged(await judge_registering(asked, Client(world.transport)), says, 403)

    run_virtual(story())


@pytest.mark.parametrize(("hangs", "says"), [(False, "connection refused"), (True, f"no answer within {SECONDS:g} s")])
def test_whose_secrets_there_are_must_be_known(says: str, *, hangs: bool) -> None:
    async def story() -> None:
        assert_not_told(await judge_registering(request(AGENT), Client(Deaf(hangs=hangs))), says)

    run_virtual(story())


@pytest.mark.parametrize(
    ("who", "given", "before", "mark"),
    [
        (AGENT, secret("member1"), None, "member1"),
        (AGENT, secret("member1", OWN), None, "member1"),
        (AGENT, secret("member1"), secret("member1", OWN), "member1"),
        (SOMEBODY, secret("member1", OWN), None, ""),
        (SOMEBODY, secret("member1", OWN), secret("member1", OWN), "member1"),
        (SOMEBODY, secret("member1", OWN, "Yg=="), secret("member1", OWN), ""),
        (SOMEBODY, secret("member1", OWN), secret("member1"), ""),
    ],
    ids=["made", "made with it", "lost", "pretended", "kept", "written by another", "put on later"],
)
def test_a_secret_says_which_agent_has_made_it(
    who: Manifest, given: Manifest, before: Manifest | None, mark: str
) -> None:
    asked = {"userInfo": who, "object": given, "oldObject": before, "resource": {"resource": "secrets"}}
    patch: list[Manifest] = json.loads(base64.b64decode(mutate(asked, SETTINGS).get("patch", "")) or b"[]")
    present = given["metadata"].get("annotations", {}).get(AGENT_MADE_ANNOTATION, "")
    if not patch:
        assert present == mark
        return
    (change,) = patch
    assert change["path"].startswith("/metadata/annotations")
    assert (change["op"] != "remove") == bool(mark)
    assert not mark or mark in str(change["value"])
