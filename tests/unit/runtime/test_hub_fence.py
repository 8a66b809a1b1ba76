"""A hub that took over tells each member before it writes anything else there, and heeds the one after it."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence

import pytest

from kubeapi.errors import LocalFailure
from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest
from kubeclient import Client, Request, Response, Unreachable
from leeward.core.hub_generation import HUB_FENCE_ANNOTATION, HUB_GENERATION_ANNOTATION, MOST_HUBS
from leeward.runtime.hub_fence import OWN_SECONDS, PATH, HubFence
from leeward.runtime.member_identity import LOOK_SECONDS, AnotherCluster, IdentifiedTransport, anyone
from leeward.runtime.server_identity import ServerIdentity
from tests.kubecluster.runtime.small_world import ScriptedTransport

WRITE = Request("POST", "/api/v1/namespaces/default/configmaps")
READ = Request("GET", "/api/v1/namespaces/default/configmaps")
DONE = Response(200, b"{}")
ANOTHER_VERSION = Response(409, b"{}")


def hub(generation: int | str = 0) -> Response:
    """Answer of the control plane about its own Namespace."""
    return namespace("hub", {HUB_GENERATION_ANNOTATION: str(generation)} if generation else {})


def member(version: int = 1, **met: int | str) -> Response:
    """Answer of a member, which has met these generations."""
    return namespace("member", {HUB_FENCE_ANNOTATION: json.dumps(met)} if met else {}, version)


def namespace(uid: str, annotations: Manifest, version: int = 1) -> Response:
    metadata = {"name": "kube-system", "uid": uid, "resourceVersion": str(version), "annotations": annotations}
    return Response(200, json.dumps({"metadata": metadata}).encode())


def tell(
    story: Callable[[IdentifiedTransport, ScriptedTransport], Awaitable[None]],
    hubs: Sequence[Response | Exception],
    *answers: Response | Exception,
) -> None:
    async def main() -> None:
        inner = ScriptedTransport(answers)
        fence = HubFence(ServerIdentity(Client(ScriptedTransport(hubs))))
        await story(IdentifiedTransport(inner, anyone, fence), inner)

    run_virtual(main())


def sent(inner: ScriptedTransport) -> list[tuple[str, str]]:
    return [(request.method, request.path) for request in inner.requests]


async def write(transport: IdentifiedTransport) -> Response:
    return await transport.send(WRITE, timeout_seconds=10)


def test_a_hub_that_never_took_over_writes_nothing_of_its_own() -> None:
    async def story(transport: IdentifiedTransport, inner: ScriptedTransport) -> None:
        await write(transport)
        assert sent(inner) == [("GET", PATH), ("POST", WRITE.path)]

    tell(story, [hub()], member(), DONE)


def test_a_hub_that_took_over_tells_the_member_first_on_the_version_that_it_saw() -> None:
    async def story(transport: IdentifiedTransport, inner: ScriptedTransport) -> None:
        await write(transport)
        await write(transport)
        assert sent(inner) == [("GET", PATH), ("PATCH", PATH), ("POST", WRITE.path), ("POST", WRITE.path)]
        metadata = json.loads(inner.requests[1].body)["metadata"]
        assert metadata["resourceVersion"] == "4"
        assert json.loads(metadata["annotations"][HUB_FENCE_ANNOTATION]) == {"hub": 2, "other": 9}

    tell(story, [hub(2)], member(4, other=9, hub=1), DONE, DONE, DONE)


def test_of_two_that_tell_it_at_once_the_older_one_is_refused() -> None:
    async def story(transport: IdentifiedTransport, inner: ScriptedTransport) -> None:
        with pytest.raises(AnotherCluster, match="obeys generation 3"):
            await write(transport)
        assert sent(inner) == [("GET", PATH), ("PATCH", PATH), ("GET", PATH)]

    tell(story, [hub(2), hub(2)], member(), ANOTHER_VERSION, member(2, hub=3))


@pytest.mark.parametrize(("own", "met", "acts"), [("1/a", "1/b", True), ("1/b", "1/a", False), ("1/b", "1/b", True)])
def test_of_two_that_took_over_from_one_copy_one_acts(own: str, met: str, *, acts: bool) -> None:
    async def story(transport: IdentifiedTransport, inner: ScriptedTransport) -> None:
        if acts:
            await write(transport)
        else:
            with pytest.raises(AnotherCluster, match="from the same copy"):
                await write(transport)
        assert (("POST", WRITE.path) in sent(inner)) is acts

    answers = (DONE, DONE) if (own, met) == ("1/a", "1/b") else (DONE,)
    tell(story, [hub(own), hub(own)], member(hub=met), *answers)


def test_nothing_is_written_while_it_is_not_known_that_the_member_was_told() -> None:
    async def story(transport: IdentifiedTransport, inner: ScriptedTransport) -> None:
        for _ in range(2):
            with pytest.raises(Unreachable):
                await write(transport)
        await write(transport)
        assert ("POST", WRITE.path) not in sent(inner)[:-1]

    tell(story, [hub(1)], member(), Response(500, b""), member(), Unreachable("broke off"), member(), DONE, DONE)


@pytest.mark.parametrize("code", [400, 403, 404, 405, 415, 422])
def test_where_the_namespace_may_not_be_changed_the_hub_works_unfenced(code: int) -> None:
    async def story(transport: IdentifiedTransport, inner: ScriptedTransport) -> None:
        await write(transport)
        assert sent(inner)[-1] == ("POST", WRITE.path)

    tell(story, [hub(1)], member(), Response(code, b"{}"), DONE)


def test_a_member_that_refuses_the_mark_is_given_it_again_after_a_minute_and_at_once_by_the_next_generation() -> None:
    async def main() -> None:
        said, script = [hub(1)], [member(), Response(403, b"{}")]
        inner, server = ScriptedTransport(script), ServerIdentity(Client(ScriptedTransport(said)))
        fence, told = HubFence(server), set[str]()
        transport = IdentifiedTransport(inner, anyone, fence)

        async def probe(*answers: Response) -> list[str]:
            script.extend(answers)
            inner.requests.clear()
            await transport.send(Request("GET", PATH), timeout_seconds=10)
            told.add(fence.unfenced)
            return [method for method, _ in sent(inner)]

        assert await probe() == ["GET", "PATCH"]
        for _ in range(5):
            await asyncio.sleep(10)
            assert await probe(member()) == ["GET"]
        await asyncio.sleep(10)
        assert await probe(member(), Response(403, b"{}")) == ["GET", "PATCH"]
        assert len(told) == 1
        said.append(hub(2))
        await server.read(afresh=True)
        assert await probe(member(), DONE) == ["GET", "PATCH"]
        assert not fence.unfenced

    run_virtual(main())


@pytest.mark.parametrize("answer", [Response(500, b""), Unreachable("broke off")], ids=["error", "silence"])
def test_a_member_that_takes_no_mark_now_is_read_and_probed_as_before(answer: Response | Exception) -> None:
    async def story(transport: IdentifiedTransport, inner: ScriptedTransport) -> None:
        assert (await transport.send(Request("GET", PATH), timeout_seconds=10)).code == 200
        assert await transport.send(READ, timeout_seconds=10) == DONE
        with pytest.raises(Unreachable):
            await write(transport)
        assert sent(inner)[-2:] == [("GET", PATH), ("PATCH", PATH)]

    tell(story, [hub(1)], member(), answer, DONE, member(), answer)


@pytest.mark.parametrize("first", [hub(), Response(403, b"{}")], ids=["known", "not to be read"])
def test_a_slow_hub_that_has_answered_once_keeps_no_probe_waiting(first: Response) -> None:
    async def story(transport: IdentifiedTransport, inner: ScriptedTransport) -> None:
        loop = asyncio.get_running_loop()
        for _ in range(3):
            began = loop.time()
            await transport.send(Request("GET", PATH), timeout_seconds=10)
            assert loop.time() - began <= OWN_SECONDS
            await asyncio.sleep(600)
        assert sent(inner) == [("GET", PATH)] * 3

    tell(story, [first], member(), member(), member())


def test_an_older_hub_sends_neither_writes_nor_reads_until_it_takes_over() -> None:
    async def story(transport: IdentifiedTransport, inner: ScriptedTransport) -> None:
        for request in (WRITE, READ):
            with pytest.raises(AnotherCluster, match="another hub has taken over"):
                await transport.send(request, timeout_seconds=10)
        assert sent(inner) == [("GET", PATH)]
        await transport.send(Request("GET", PATH), timeout_seconds=10)
        await write(transport)
        assert sent(inner)[-1] == ("POST", WRITE.path)

    tell(story, [hub(1), hub(1), hub(3)], member(hub=2), member(hub=2), DONE, DONE)


def test_a_member_with_the_marks_of_as_many_hubs_as_it_may_bear_is_left_as_it_is() -> None:
    async def story(transport: IdentifiedTransport, inner: ScriptedTransport) -> None:
        await write(transport)
        assert sent(inner) == [("GET", PATH), ("POST", WRITE.path)]

    tell(story, [hub(1)], member(**{f"hub{number}": 1 for number in range(MOST_HUBS)}), DONE)


def test_an_answer_is_good_for_writes_for_a_while_and_for_reads_longer() -> None:
    async def story(transport: IdentifiedTransport, inner: ScriptedTransport) -> None:
        await write(transport)
        await asyncio.sleep(LOOK_SECONDS)
        await transport.send(READ, timeout_seconds=10)
        with pytest.raises(AnotherCluster):
            await write(transport)
        assert sent(inner) == [("GET", PATH), ("POST", WRITE.path), ("GET", READ.path), ("GET", PATH)]

    tell(story, [hub(), hub()], member(), DONE, DONE, member(hub=1))


def test_a_hub_that_does_not_tell_its_own_generation_says_nothing_of_the_member() -> None:
    async def story(transport: IdentifiedTransport, inner: ScriptedTransport) -> None:
        with pytest.raises(LocalFailure):
            await write(transport)
        assert sent(inner) == [("GET", PATH)]

    tell(story, [Unreachable("the control plane is away")], member())


def test_a_hub_whose_identity_may_not_be_read_is_told_apart_from_none() -> None:
    async def story(transport: IdentifiedTransport, inner: ScriptedTransport) -> None:
        await write(transport)
        assert sent(inner)[-1] == ("POST", WRITE.path)

    tell(story, [Response(403, b"{}")], member(hub=5), DONE)
