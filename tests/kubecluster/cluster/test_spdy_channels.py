"""Exec over SPDY, of a simulated cluster, asked of its API server by a client that is written here."""

import asyncio
from collections.abc import AsyncIterator
from urllib.parse import parse_qsl

import pytest

from kubeapi.codec import decode_manifest
from kubeapi.meta import Manifest
from kubeapi.transport import Request, Response
from kubecluster.spdy import data_frame
from kubecluster.spdy_channels import MOST_STREAMS, OPENING_SECONDS
from kubeserver.handler import StreamResponse
from kubeserver.inprocess import ADMIN
from tests.kubecluster.cluster.simulated_cluster import Cluster, tell
from tests.kubecluster.cluster.test_kubelet_api import path_of, started
from tests.kubecluster.cluster.test_spdy import Client, control

KUBECTLS = "v4.channel.k8s.io\nv3.channel.k8s.io\nv2.channel.k8s.io\nchannel.k8s.io"
SHELL = "command=sh&stdin=true&stdout=true&stderr=true"
ERROR, STDIN, STDOUT, STDERR = 1, 3, 5, 7


async def ask(
    cluster: Cluster, pod: Manifest, query: str, action: str = "exec", **headers: str
) -> Response | StreamResponse:
    upgrade = {"upgrade": "SPDY/3.1", "x-stream-protocol-version": KUBECTLS, **headers}
    request = Request("POST", path_of(pod, action), dict(parse_qsl(query)), upgrade, b"", query)
    return await cluster.server.handle(request, ADMIN)


class Talk:
    """One exec over SPDY."""

    def __init__(self, answer: Response | StreamResponse) -> None:
        assert isinstance(answer, StreamResponse), answer
        assert answer.way_back is not None
        assert (answer.way_back.protocol, answer.way_back.upgrade) == ("", "SPDY/3.1")
        assert answer.headers == {"x-stream-protocol-version": "v4.channel.k8s.io"}
        self._send = answer.way_back.send
        self._frames: AsyncIterator[bytes] = aiter(answer.lines)
        self.client = Client()

    async def open(self, **streams: int) -> None:
        for what, stream in streams.items():
            await self._send(self.client.open(stream, streamtype=what))
            assert self.client.read(await self.frame()) == (stream, bytes(4), False)

    async def type(self, text: bytes, is_last: bool = False) -> None:
        await self._send(data_frame(STDIN, text, is_last))

    async def send(self, frame: bytes) -> None:
        await self._send(frame)

    async def frame(self) -> bytes:
        return await anext(self._frames)

    async def rest(self) -> dict[int, bytes]:
        """Bytes that came on each stream; each has ended."""
        read = [self.client.read(frame) async for frame in self._frames]
        by_stream = {stream: b"".join(data for s, data, _ in read if s == stream) for stream, _, _ in read}
        assert {stream for stream, _, is_last in read if is_last} >= set(by_stream)
        return by_stream


def test_a_command_runs_when_its_streams_are_open_and_ends_all_of_them() -> None:
    async def story(cluster: Cluster) -> None:
        pod = await started(cluster)
        query = "command=sh&command=-c&command=hostname%3B+cat+none%3B+exit+3&stdout=true&stderr=true"
        talk = Talk(await ask(cluster, pod, query))
        await talk.open(error=ERROR, stdout=STDOUT)
        await asyncio.sleep(OPENING_SECONDS - 1)
        await talk.open(stderr=STDERR)
        said = await talk.rest()
        assert said[STDOUT] == f"{pod['metadata']['name']}\n".encode()
        assert said[STDERR] == b"cat: can't open 'none': No such file or directory\n"
        assert decode_manifest(said[ERROR])["details"]["causes"] == [{"reason": "ExitCode", "message": "3"}]

    tell(story)


@pytest.mark.parametrize("is_reset", [False, True])
def test_a_shell_reads_what_is_typed_until_the_stream_ends(is_reset: bool) -> None:
    async def story(cluster: Cluster) -> None:
        talk = Talk(await ask(cluster, await started(cluster), SHELL))
        await talk.open(error=ERROR, stdin=STDIN, stdout=STDOUT, stderr=STDERR)
        await talk.send(control(6, b"ping"))
        assert await talk.frame() == control(6, b"ping")
        await talk.type(b"echo on")
        await talk.type(b"e\n", is_last=not is_reset)
        if is_reset:
            await talk.send(control(3, STDIN.to_bytes(4) + (5).to_bytes(4)))
        said = await talk.rest()
        assert said[STDOUT] == b"one\n"
        assert decode_manifest(said[ERROR])["status"] == "Success"

    tell(story)


def test_a_terminal_has_no_stream_of_errors_and_one_for_its_size() -> None:
    async def story(cluster: Cluster) -> None:
        query = f"{SHELL}&tty=true"
        talk = Talk(await ask(cluster, await started(cluster), query))
        await talk.open(error=ERROR, stdin=STDIN, stdout=STDOUT, resize=9)
        await talk.send(data_frame(9, b'{"Width":80,"Height":24}'))
        await talk.type(b"nope\rexit 7\r")
        said = await talk.rest()
        assert said[STDOUT] == b"# nope\r\nexit 7\r\nsh: nope: not found\r\n# "
        assert decode_manifest(said[ERROR])["details"]["causes"][0]["message"] == "7"

    tell(story)


def test_who_opens_no_streams_too_many_or_speaks_no_spdy_is_left() -> None:
    async def story(cluster: Cluster) -> None:
        pod = await started(cluster)
        silent = Talk(await ask(cluster, pod, SHELL))
        await silent.open(error=ERROR)
        before = asyncio.get_running_loop().time()
        assert await silent.rest() == {}
        assert asyncio.get_running_loop().time() - before == pytest.approx(OPENING_SECONDS)

        greedy = Talk(await ask(cluster, pod, SHELL))
        await greedy.open(**{f"kind{number}": 11 + 2 * number for number in range(MOST_STREAMS)})
        await greedy.send(greedy.client.open(99, streamtype="error"))
        assert await greedy.rest() == {}

        other = Talk(await ask(cluster, pod, SHELL))
        await other.send(b"GET / HTTP/1.1\r\n\r\n" * 8)
        assert await other.rest() == {}

    tell(story)


def test_who_offers_an_unknown_protocol_hears_which_are_spoken() -> None:
    async def story(cluster: Cluster) -> None:
        headers = {"x-stream-protocol-version": "v9.channel.k8s.io"}
        answer = await ask(cluster, await started(cluster), SHELL, **headers)
        assert isinstance(answer, Response)
        assert answer.code == 400
        assert "or to SPDY/3.1 with v4.channel.k8s.io, is required" in decode_manifest(answer.body)["message"]

    tell(story)
