"""Objects that end by themselves, as kube-controller-manager ends them: Jobs, bootstrap tokens, signing requests."""

import asyncio
import base64
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kubeapi.meta import Manifest, format_time
from kubeserver.controllers.ends import end_of_bootstrap_token, end_of_job, end_of_signing_request
from tests.certificates import Authority
from tests.kubeserver.api_world import ApiWorld, tell

BORN = datetime(2026, 1, 1, tzinfo=UTC)
JOBS, SECRETS = "/apis/batch/v1/namespaces/default/jobs", "/api/v1/namespaces/kube-system/secrets"
NEVER = "9999-12-31T23:59:59Z"
HOUR = timedelta(hours=1)


def after(**passed: float) -> str:
    return format_time(BORN + timedelta(**passed))


def condition(kind: str, since: str, status: str = "True") -> dict[str, str]:
    return {"type": kind, "status": status, "lastTransitionTime": since}


def job(ttl: int | None, *conditions: dict[str, str]) -> Manifest:
    containers = [{"name": "main", "image": "image:1"}]
    template = {"spec": {"containers": containers, "restartPolicy": "Never"}}
    limited = {} if ttl is None else {"ttlSecondsAfterFinished": ttl}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "once"},
        "spec": {"template": template, **limited},
        "status": {"conditions": list(conditions)},
    }


def token(expiration: str, kind: str = "bootstrap.kubernetes.io/token") -> Manifest:
    data = {"token-id": "abcdef", "token-secret": "0123456789abcdef", "expiration": expiration}
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
    metadata = {"name": "bootstrap-token-abcdef", "namespace": "kube-system"}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": kind, "data": encoded}


def request(*conditions: dict[str, str], **status: str) -> Manifest:
    return {"metadata": {"creationTimestamp": format_time(BORN)}, "status": {"conditions": list(conditions), **status}}


@pytest.mark.parametrize(
    ("manifest", "end"),
    [
        (job(60, condition("Complete", after(hours=1))), BORN + HOUR + timedelta(minutes=1)),
        (job(0, condition("Failed", after(hours=1))), BORN + HOUR),
        (job(60, condition("Complete", NEVER)), datetime.max.replace(tzinfo=UTC)),
        (job(60, condition("Complete", after(hours=1), "False")), None),
        (job(60, condition("Suspended", after(hours=1))), None),
        (job(60), None),
        (job(None, condition("Complete", after(hours=1))), None),
    ],
)
def test_a_job_ends_so_long_after_it_was_finished_as_it_says(manifest: Manifest, end: datetime | None):
    assert end_of_job(manifest) == end


@pytest.mark.parametrize(
    ("secret", "end"),
    [
        (token(after(hours=1)), BORN + HOUR),
        (token("some day"), None),
        (token(""), None),
        (token(after(hours=1), "Opaque"), None),
        ({**token(""), "data": {"expiration": "="}}, None),
    ],
)
def test_a_bootstrap_token_ends_when_it_expires(secret: Manifest, end: datetime | None):
    assert end_of_bootstrap_token(secret) == end


@pytest.mark.parametrize(
    ("asked", "end"),
    [
        (request(), BORN + 24 * HOUR),
        (request(condition("Approved", after(hours=3))), BORN + 4 * HOUR),
        (request(condition("Denied", after(hours=3))), BORN + 4 * HOUR),
        (request(condition("Approved", after(hours=3)), condition("Failed", after(hours=5))), BORN + 4 * HOUR),
        (request({**condition("Approved", after(hours=3)), "lastUpdateTime": after(hours=4)}), BORN + 5 * HOUR),
        (request(condition("Approved", after(hours=3)), certificate="bm9uZQ=="), BORN + 4 * HOUR),
    ],
)
def test_a_signing_request_ends_some_time_after_it_was_decided_or_made(asked: Manifest, end: datetime):
    assert end_of_signing_request(asked) == end


def test_a_signing_request_ends_with_its_certificate():
    certificate, _ = Authority().issue("somebody")
    signed = request(condition("Approved", after(days=3650)), certificate=base64.b64encode(certificate).decode())
    end = end_of_signing_request(signed)
    assert end is not None
    assert abs(end - datetime.now(UTC) - HOUR) < timedelta(minutes=5)


def test_a_finished_job_goes_when_its_time_is_over_and_not_before():
    async def finish(world: ApiWorld, **spec: Any) -> None:
        path = f"{JOBS}/once"
        await world.patch(path, {"spec": spec})
        now = (await world.get(path)).body["metadata"]["creationTimestamp"]
        done = [condition("SuccessCriteriaMet", now), condition("Complete", now)]
        status = {"conditions": done, "startTime": now, "completionTime": now}
        answer = await world.patch(f"{path}/status", {"status": status})
        assert answer.code == 200, answer.body

    async def story(world: ApiWorld) -> None:
        await world.create(JOBS, job(3600))
        await asyncio.sleep(7200)
        assert (await world.get(JOBS)).names == ["once"]
        await finish(world, ttlSecondsAfterFinished=10_000)
        await asyncio.sleep(2000)
        assert (await world.get(JOBS)).names == ["once"]
        await world.patch(f"{JOBS}/once", {"spec": {"ttlSecondsAfterFinished": 9300}})
        await asyncio.sleep(90)
        assert (await world.get(JOBS)).names == ["once"]
        await asyncio.sleep(20)
        assert (await world.get(JOBS)).names == []

    tell(story)


def test_an_expired_bootstrap_token_goes():
    async def story(world: ApiWorld) -> None:
        await world.create(SECRETS, token(after(minutes=10)))
        await asyncio.sleep(590)
        assert (await world.get(SECRETS)).names == ["bootstrap-token-abcdef"]
        await asyncio.sleep(20)
        assert (await world.get(SECRETS)).names == []

    tell(story)
