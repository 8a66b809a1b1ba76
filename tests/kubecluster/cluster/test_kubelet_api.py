"""Logs, exec and metrics of a simulated cluster, asked of its API server."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import parse_qsl

import pytest

from kubeapi.codec import decode_manifest
from kubeapi.meta import Manifest
from kubeapi.transport import Request, Response
from kubecluster.kinds import CONFIG_MAPS, DEPLOYMENTS, PODS
from kubecluster.rules.usage import CPU_ANNOTATION
from kubeserver.handler import StreamResponse
from kubeserver.inprocess import ADMIN
from tests.kubecluster.cluster.simulated_cluster import Cluster, pod_template, tell, workload

V5 = {"upgrade": "websocket", "sec-websocket-protocol": "v5.channel.k8s.io,v4.channel.k8s.io"}


async def ask(cluster: Cluster, path: str, query: str = "", **headers: str) -> Response | StreamResponse:
    return await cluster.server.handle(Request("GET", path, dict(parse_qsl(query)), headers, b"", query), ADMIN)


async def started(cluster: Cluster, **spec: Any) -> Manifest:
    """The only Pod of a Deployment, as soon as it runs."""
    await cluster.create(DEPLOYMENTS, workload("Deployment", pod_template(**spec), replicas=1))
    await asyncio.sleep(5)
    [pod] = await cluster.objects(PODS)
    return pod


def path_of(pod: Manifest, action: str) -> str:
    return f"/api/v1/namespaces/default/pods/{pod['metadata']['name']}/{action}"


class Talk:
    """One exec."""

    def __init__(self, answer: Response | StreamResponse) -> None:
        assert isinstance(answer, StreamResponse), answer
        assert answer.way_back is not None
        assert answer.way_back.protocol == "v5.channel.k8s.io"
        self._way_back = answer.way_back
        self._lines: AsyncIterator[bytes] = aiter(answer.lines)

    async def type(self, text: bytes) -> None:
        await self._way_back.send(b"\x00" + text)

    async def close_input(self) -> None:
        await self._way_back.send(b"\xff\x00")

    async def rest(self) -> tuple[str, str, Manifest]:
        """Text that was written to stdout and to stderr, and how it has ended."""
        messages = [message async for message in self._lines]
        streams = [b"".join(m[1:] for m in messages if m[0] == channel) for channel in (1, 2, 3)]
        return streams[0].decode(), streams[1].decode(), decode_manifest(streams[2])

    async def next(self) -> bytes:
        return await anext(self._lines)


async def execute(cluster: Cluster, pod: Manifest, query: str) -> Talk:
    return Talk(await ask(cluster, path_of(pod, "exec"), query, **V5))


def test_a_command_runs_in_the_container_and_gives_its_code() -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.create(CONFIG_MAPS, {"metadata": {"name": "conf"}, "data": {"a": "1"}})
        template = {"volumes": [{"name": "conf", "configMap": {"name": "conf"}}]}
        pod = await started(cluster, **template)
        talk = await execute(cluster, pod, "command=sh&command=-c&command=hostname%3B+exit+3&stdout=true&stderr=true")
        output, errors, status = await talk.rest()
        assert (output, errors) == (f"{pod['metadata']['name']}\n", "")
        assert status["details"]["causes"] == [{"reason": "ExitCode", "message": "3"}]
        talk = await execute(cluster, pod, "command=cat&command=%2Fnone&stdout=true&stderr=true")
        assert (await talk.rest())[1] == "cat: can't open '/none': No such file or directory\n"
        talk = await execute(cluster, pod, "command=nginx&stdout=true")
        assert 'exec: "nginx": executable file not found in $PATH' in (await talk.rest())[2]["message"]

    tell(story)


def test_a_shell_reads_what_is_typed_until_its_end() -> None:
    async def story(cluster: Cluster) -> None:
        pod = await started(cluster)
        talk = await execute(cluster, pod, "command=sh&stdin=true&stdout=true&stderr=true")
        await talk.type(b"echo on")
        await talk.type(b"e\nfalse\n")
        await talk.type(b"echo $?\n")
        await talk.close_input()
        output, _, status = await talk.rest()
        assert (output, status["status"]) == ("one\n1\n", "Success")

        talk = await execute(cluster, pod, "command=sh&stdin=true&stdout=true&tty=true")
        await talk.type(b"nope\rexit 7\r")
        output, errors, status = await talk.rest()
        assert output == "# nope\r\nexit 7\r\nsh: nope: not found\r\n# "
        assert (errors, status["details"]["causes"][0]["message"]) == ("", "7")

        talk = await execute(cluster, pod, "command=cat&stdin=true&stdout=true")
        await talk.type(b"piped")
        await talk.close_input()
        assert (await talk.rest())[0] == "piped"

    tell(story)


def test_a_log_is_cut_as_it_was_asked_for_and_followed_to_the_end() -> None:
    async def story(cluster: Cluster) -> None:
        pod = await started(cluster)
        path, line = (
            path_of(pod, "log"),
            f"{pod['metadata']['name']}: container main started, image nginx:1 (simulated)\n",
        )
        begun = pod["status"]["containerStatuses"][0]["state"]["running"]["startedAt"]
        for query, text in (
            ("", line),
            ("container=main&tailLines=1", line),
            ("tailLines=0", ""),
            ("timestamps=true", f"{begun} {line}"),
            ("sinceSeconds=1", ""),
            ("sinceSeconds=3600", line),
            ("limitBytes=3", line[:3]),
        ):
            answer = await ask(cluster, path, query)
            assert isinstance(answer, Response)
            assert (answer.code, answer.body.decode()) == (200, text), query
        followed = await ask(cluster, path, "follow=true")
        assert isinstance(followed, StreamResponse)
        await cluster.delete(DEPLOYMENTS, "web")
        assert [piece async for piece in followed.lines] == [line.encode()]

    tell(story)


@pytest.mark.parametrize(
    ("action", "query", "message"),
    [
        ("log", "container=other", "container other is not valid for pod"),
        ("log", "previous=true", 'previous terminated container "main" in pod'),
        ("log", "tailLines=some", "tailLines: is 'some'; give a number that is not negative"),
        ("log", "sinceTime=soon", "sinceTime: "),
        ("exec", "command=echo", "Upgrade to a WebSocket with one of the protocols v5.channel.k8s.io"),
        ("exec", "command=echo", "or to SPDY/3.1 with v4.channel.k8s.io, is required"),
        ("attach", "", "attach: containers of this cluster are simulated, and answer kubectl logs and kubectl exec"),
        ("portforward", "", "portforward: containers of this cluster are simulated, and answer kubectl logs and"),
    ],
)
def test_what_cannot_be_answered_says_why(action: str, query: str, message: str) -> None:
    async def story(cluster: Cluster) -> None:
        answer = await ask(cluster, path_of(await started(cluster), action), query)
        assert isinstance(answer, Response)
        assert answer.code == 400
        assert message in decode_manifest(answer.body)["message"]

    tell(story)


def test_a_container_that_waits_has_no_log_and_runs_nothing() -> None:
    async def story(cluster: Cluster) -> None:
        pod = await started(cluster, volumes=[{"name": "v", "secret": {"secretName": "missing"}}])
        for action in ("log", "exec"):
            answer = await ask(cluster, path_of(pod, action), "command=echo", **V5)
            assert isinstance(answer, Response)
            where = f'container "main" in pod "{pod["metadata"]["name"]}"'
            assert decode_manifest(answer.body)["message"] == f"{where} is waiting to start: ContainerCreating"

    tell(story)


def test_metrics_are_served_of_ready_pods_and_of_nodes() -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.create(DEPLOYMENTS, workload("Deployment", replicas=2))
        await cluster.patch(DEPLOYMENTS, "web", {"metadata": {"annotations": {CPU_ANNOTATION: "3"}}})
        await asyncio.sleep(5)
        metrics = "/apis/metrics.k8s.io/v1beta1"
        listed = await ask(cluster, f"{metrics}/namespaces/default/pods", "labelSelector=app%3Dweb")
        assert isinstance(listed, Response)
        items = decode_manifest(listed.body)["items"]
        assert [item["containers"][0]["usage"] for item in items] == [{"cpu": "1500m", "memory": "8192Ki"}] * 2
        none = await ask(cluster, f"{metrics}/pods", "labelSelector=app%3Dother")
        assert isinstance(none, Response)
        assert decode_manifest(none.body)["items"] == []
        node = await ask(cluster, f"{metrics}/nodes/node-1")
        assert isinstance(node, Response)
        assert decode_manifest(node.body)["usage"] == {"cpu": "1550m", "memory": "270336Ki"}
        for path, code in ((f"{metrics}/nodes/node-9", 404), ("/apis/metrics.k8s.io", 200), (metrics, 200)):
            answer = await ask(cluster, path)
            assert isinstance(answer, Response)
            assert answer.code == code

    tell(story)


def test_metrics_that_are_missing_are_told_in_the_words_of_metrics_server() -> None:
    async def story(cluster: Cluster) -> None:
        broken = {"metadata": {"name": "web"}, "spec": {"containers": [{"name": "web", "image": "nginx:broken"}]}}
        await cluster.create(PODS, broken)
        await asyncio.sleep(5)
        metrics = "/apis/metrics.k8s.io/v1beta1"
        for path, message in (
            ("namespaces/default/pods/other", 'pods "other" not found'),
            ("namespaces/default/pods/web", 'podmetrics.metrics.k8s.io "default/web" not found'),
            ("nodes/node-9", 'nodes "node-9" not found'),
        ):
            answer = await ask(cluster, f"{metrics}/{path}")
            assert isinstance(answer, Response)
            assert (answer.code, decode_manifest(answer.body)["message"]) == (404, message)

    tell(story)
