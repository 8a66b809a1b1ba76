"""Nothing is sent to a member before it is known that it is no other cluster."""

import asyncio
import json
from collections.abc import Awaitable, Callable

import pytest

from kubeapi.loop.virtual import run_virtual
from kubeclient import Request, Response, Unreachable
from leeward.runtime.member_identity import ASK_AGAIN_SECONDS, PATH, AnotherCluster, IdentifiedTransport
from tests.kubecluster.runtime.small_world import ScriptedTransport

WRITE = Request("POST", "/api/v1/namespaces/default/configmaps")
HEALTH = Request("GET", "/readyz")
QUESTION = Request("GET", PATH)
DONE = Response(201, b"{}")


def said(uid: str) -> Response:
    return Response(200, json.dumps({"metadata": {"uid": uid}}).encode())


async def judge(found: str) -> str:
    return "leads astray" if found == "another" else ""


def tell(
    story: Callable[[IdentifiedTransport, ScriptedTransport], Awaitable[None]], *answers: Response | Exception
) -> None:
    async def main() -> None:
        inner = ScriptedTransport(answers, answer_seconds=1)
        await story(IdentifiedTransport(inner, judge), inner)

    run_virtual(main())


def paths(inner: ScriptedTransport) -> list[str]:
    return [request.path for request in inner.requests]


async def send(transport: IdentifiedTransport, request: Request = WRITE) -> Response:
    return await transport.send(request, timeout_seconds=10)


def test_it_is_asked_once_before_all_that_waits() -> None:
    async def story(transport: IdentifiedTransport, inner: ScriptedTransport) -> None:
        assert await asyncio.gather(send(transport), send(transport)) == [DONE, DONE]
        assert paths(inner) == [PATH, WRITE.path, WRITE.path]

    tell(story, said("own"), DONE, DONE)


def test_the_answer_that_somebody_else_waits_for_serves() -> None:
    async def story(transport: IdentifiedTransport, inner: ScriptedTransport) -> None:
        await asyncio.gather(send(transport, QUESTION), send(transport))
        assert paths(inner) == [PATH, WRITE.path]

    tell(story, said("own"), DONE)


def test_s6_nothing_is_sent_to_another_one_which_is_asked_again_after_a_while() -> None:
    async def story(transport: IdentifiedTransport, inner: ScriptedTransport) -> None:
        for request in (WRITE, WRITE, HEALTH):
            with pytest.raises(AnotherCluster, match="leads astray"):
                await send(transport, request)
        with pytest.raises(AnotherCluster):
            async with transport.stream(WRITE):
                pass
        assert paths(inner) == [PATH]
        await asyncio.sleep(ASK_AGAIN_SECONDS)
        assert await send(transport) is DONE

    tell(story, said("another"), said("own"), DONE)


def test_s6_an_address_that_leads_elsewhere_later_is_noticed_by_the_next_probe() -> None:
    async def story(transport: IdentifiedTransport, inner: ScriptedTransport) -> None:
        await send(transport)
        with pytest.raises(AnotherCluster):
            await send(transport, QUESTION)
        with pytest.raises(AnotherCluster):
            await send(transport)
        assert paths(inner) == [PATH, WRITE.path, PATH]

    tell(story, said("own"), DONE, said("another"))


def test_health_is_asked_of_whoever_answers() -> None:
    async def story(transport: IdentifiedTransport, inner: ScriptedTransport) -> None:
        assert await send(transport, HEALTH) is DONE
        assert paths(inner) == [HEALTH.path]

    tell(story, DONE)


@pytest.mark.parametrize("code", [401, 403, 404])
def test_who_may_not_be_asked_is_taken_for_the_member(code: int) -> None:
    async def story(transport: IdentifiedTransport, inner: ScriptedTransport) -> None:
        assert await send(transport) is DONE
        assert await send(transport) is DONE
        assert paths(inner) == [PATH, WRITE.path, WRITE.path]

    tell(story, Response(code, b""), DONE, DONE)


@pytest.mark.parametrize(
    "unknown", [Unreachable("connection refused"), Response(500, b""), Response(429, b""), Response(200, b"?")]
)
def test_s5_nothing_is_sent_where_it_is_not_known_who_would_answer(unknown: Response | Exception) -> None:
    async def story(transport: IdentifiedTransport, inner: ScriptedTransport) -> None:
        with pytest.raises(Unreachable):
            await send(transport)
        assert paths(inner) == [PATH]
        assert await send(transport) is DONE

    tell(story, unknown, said("own"), DONE)


def test_a_server_that_says_nothing_has_the_time_of_the_request() -> None:
    async def story(transport: IdentifiedTransport, inner: ScriptedTransport) -> None:
        began = asyncio.get_running_loop().time()
        with pytest.raises(Unreachable, match="no answer within 10 s"):
            await send(transport)
        assert asyncio.get_running_loop().time() - began == 10

    tell(story)


def test_an_answer_that_says_nothing_changes_nothing_of_what_is_known() -> None:
    async def story(transport: IdentifiedTransport, inner: ScriptedTransport) -> None:
        await send(transport)
        await send(transport, QUESTION)
        assert await send(transport) is DONE

    tell(story, said("own"), DONE, Response(500, b""), DONE)


def test_the_question_that_is_under_way_serves_who_asks_for_the_namespace_itself() -> None:
    async def story(transport: IdentifiedTransport, inner: ScriptedTransport) -> None:
        _, answer = await asyncio.gather(send(transport), send(transport, QUESTION))
        assert answer == said("own")
        assert paths(inner) == [PATH, WRITE.path]

    tell(story, said("own"), DONE)


def test_who_waits_for_a_question_that_fails_asks_again() -> None:
    async def story(transport: IdentifiedTransport, inner: ScriptedTransport) -> None:
        failed, done = await asyncio.gather(send(transport), send(transport), return_exceptions=True)
        assert isinstance(failed, Unreachable)
        assert done is DONE

    tell(story, Unreachable("reset"), said("own"), DONE)


def test_s6_who_was_another_one_and_answers_nothing_useful_now_stays_another_one() -> None:
    async def story(transport: IdentifiedTransport, inner: ScriptedTransport) -> None:
        for _ in range(2):
            with pytest.raises(AnotherCluster):
                await send(transport)
            await asyncio.sleep(ASK_AGAIN_SECONDS)
        assert paths(inner) == [PATH, PATH]

    tell(story, said("another"), Response(500, b""))
