"""Both sides over real gRPC on 127.0.0.1: with certificates, with wrong ones, with hostile estimators."""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest

from controller_runtime.resting import FIRST_REST_SECONDS
from kubeapi.errors import Unreachable
from kubeapi.loop.clock import SystemClock
from kubeapi.loop.randomness import Randomness
from kubeapi.loop.supervisor import Supervisor
from kubeapi.protobuf_wire import integer_field
from kubeapi.resource import Resource
from kubeclient import Client
from kubeserver.inprocess import InProcessTransport
from kubeserver.starting import start_apiserver
from kubeserver.store import Store
from kubeserver.store.memory import MemoryMedium
from leeward.api.work import BindingResource, Component, ReplicaRequirements
from leeward.core.scheduling.estimates import Answers, Question
from leeward.core.scheduling.model import MAX_REPLICAS
from leeward.estimator import grpc_port
from leeward.estimator.access import EstimatorAccess
from leeward.estimator.answering import MemberEstimates
from leeward.estimator.channels import MAX_ANSWER_BYTES, SERVICES, EstimatorChannels
from leeward.estimator.messages import AVAILABLE_REPLICAS, AVAILABLE_SETS, SERVICE, UNSCHEDULABLE_REPLICAS
from leeward.estimator.serving import EstimatorServer, ServerCertificates
from leeward.runtime.cluster_estimators import ClusterEstimator, ClusterEstimators
from leeward.runtime.controller_context import Member
from leeward.runtime.metrics import Metrics
from tests.certificates import Authority
from tests.kubeserver.echo import SkippingLoop, skip

NODES = Resource.of_manifests("v1", "nodes", "Node", False)
PORT = 10_352
ASKED = Question(ReplicaRequirements(resource_request={"cpu": "1"}))
WEB = BindingResource(api_version="apps/v1", kind="Deployment", namespace="default", name="web")
DEADLINE = 60.0
"""Nobody waits for so long: who is to be too late has the clock skip it."""
Story = Callable[["Fleet"], Coroutine[Any, Any, None]]


@dataclass
class Fleet:
    """A control plane that knows where estimators are, and a member with 3 CPUs on two nodes."""

    client: Client
    supervisor: Supervisor
    access: EstimatorAccess = field(default_factory=lambda: EstimatorAccess(enabled=True))

    async def serve(self, certificates: ServerCertificates | None = None) -> EstimatorServer:
        """The estimator of member1."""
        member = Member.of("member1", self.client, Randomness(0), self.supervisor)
        server = EstimatorServer(MemberEstimates(member, SystemClock()), "127.0.0.1", 0, certificates)
        await self.know("member1", await server.start())
        return server

    async def know(self, cluster: str, port: int) -> None:
        spec = {
            "type": "ExternalName",
            "externalName": "127.0.0.1",
            "ports": [{"port": PORT, "targetPort": port}],
        }
        name = f"karmada-scheduler-estimator-{cluster}"
        await self.client.create(SERVICES, {"metadata": {"name": name}, "spec": spec}, "karmada-system")

    @asynccontextmanager
    async def channels(self) -> AsyncGenerator[EstimatorChannels, None]:
        channels = EstimatorChannels(self.client, self.access)
        try:
            yield channels
        finally:
            await channels.close()

    async def ask(self, *clusters: str) -> Answers:
        """Asks all of them at once, by one deadline."""
        async with self.channels() as channels:
            return await self.estimators(channels).room(ASKED, clusters)

    def estimators(self, estimator: ClusterEstimator) -> ClusterEstimators:
        return ClusterEstimators(estimator, SystemClock(), Metrics(), self.supervisor, DEADLINE)


@dataclass
class Heard(ClusterEstimator):
    """The way to the estimators, which tells that one of them has answered."""

    channels: EstimatorChannels
    answered: asyncio.Event = field(default_factory=asyncio.Event)

    async def room(self, cluster: str, question: Question) -> int:
        found = await self.channels.room(cluster, question)
        self.answered.set()
        return found

    async def unschedulable(self, cluster: str, workload: BindingResource, threshold_seconds: float) -> int:
        return await self.channels.unschedulable(cluster, workload, threshold_seconds)

    async def forget(self, cluster: str) -> None:
        await self.channels.forget(cluster)


def tell(story: Story) -> None:
    async def main() -> None:
        async with Supervisor("test") as supervisor:
            store = await Store.open(MemoryMedium(), supervisor)
            client = Client(InProcessTransport(await start_apiserver(store, SystemClock(), Randomness(0), supervisor)))
            namespaces = Resource.of_manifests("v1", "namespaces", "Namespace", False)
            await client.create(namespaces, {"metadata": {"name": "karmada-system"}})
            for name, cpu in (("n1", "1500m"), ("n2", "1500m")):
                status = {
                    "allocatable": {"cpu": cpu, "pods": "10"},
                    "conditions": [{"type": "Ready", "status": "True"}],
                }
                await client.create(NODES, {"metadata": {"name": name}})
                await client.patch(NODES, name, {"status": status}, subresource="status")
            await story(Fleet(client, supervisor))

    with asyncio.Runner(loop_factory=SkippingLoop) as runner:
        runner.run(main())


@asynccontextmanager
async def saying(answer: Callable[[], Awaitable[bytes]]) -> AsyncGenerator[int, None]:
    """A server on this port that answers every question so, whatever it is."""

    async def reply(_: bytes, __: grpc.aio.ServicerContext[bytes, bytes]) -> bytes:
        return await answer()

    methods = (AVAILABLE_REPLICAS, AVAILABLE_SETS, UNSCHEDULABLE_REPLICAS)
    handlers: Mapping[str, grpc.RpcMethodHandler[bytes, bytes]] = {
        name: grpc.unary_unary_rpc_method_handler(reply) for name in methods
    }
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, dict(handlers)),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield port
    finally:
        await server.stop(0)


@dataclass(frozen=True)
class Pki:
    """Files of one authority: what the server and the scheduler show."""

    directory: Path
    authority: Authority

    def file(self, name: str, content: bytes) -> Path:
        path = self.directory / name
        path.write_bytes(content)
        return path

    @property
    def ca(self) -> Path:
        return self.file("ca.crt", self.authority.certificate)

    @property
    def server(self) -> ServerCertificates:
        certificate, key = self.authority.issue("estimator")
        return ServerCertificates(
            certificate=self.file("server.crt", certificate), key=self.file("server.key", key), client_authority=self.ca
        )

    def access(self, **changes: Any) -> EstimatorAccess:
        certificate, key = self.authority.issue("scheduler")
        whole = EstimatorAccess(
            enabled=True,
            authority=self.ca,
            certificate=self.file("client.crt", certificate),
            key=self.file("client.key", key),
        )
        return replace(whole, **changes)


@pytest.fixture
def pki(tmp_path: Path) -> Pki:
    return Pki(tmp_path, Authority())


def test_room_on_the_nodes_is_asked_and_answered() -> None:
    async def story(fleet: Fleet) -> None:
        server = await fleet.serve()
        async with fleet.channels() as channels:
            assert await channels.room("member1", ASKED) == 2
            component = Component(name="main", replicas=2, replica_requirements=ASKED.requirements)
            assert await channels.room("member1", Question(None, (component,))) == 1
            with pytest.raises(Unreachable, match="NOT_FOUND: resource: member1 has no Deployment default/web"):
                await channels.unschedulable("member1", WEB, 300)
            garbled = Question(ReplicaRequirements(resource_request={"cpu": "lots"}))
            with pytest.raises(Unreachable, match=r"INVALID_ARGUMENT: .*lots"):
                await channels.room("member1", garbled)
        await server.close()

    tell(story)


def test_an_estimator_of_another_cluster_says_so() -> None:
    async def story(fleet: Fleet) -> None:
        async with saying(_count(7)) as port:
            await fleet.know("member2", port)
            server = await fleet.serve()
            service = await fleet.client.get(SERVICES, "karmada-scheduler-estimator-member1", "karmada-system")
            await fleet.client.patch(
                SERVICES, "karmada-scheduler-estimator-member2", {"spec": service["spec"]}, "karmada-system"
            )
            async with fleet.channels() as channels:
                with pytest.raises(Unreachable, match="INVALID_ARGUMENT: cluster: 'member2' is asked about"):
                    await channels.room("member2", ASKED)
            await server.close()

    tell(story)


def test_both_sides_show_certificates(pki: Pki) -> None:
    async def story(fleet: Fleet) -> None:
        server = await fleet.serve(pki.server)
        fleet.access = pki.access()
        assert await fleet.ask("member1") == {"member1": 2}
        fleet.access = pki.access(authority=None, skip_verify=True)
        assert await fleet.ask("member1") == {"member1": 2}
        await server.close()

    tell(story)


@pytest.mark.parametrize(
    "wrong", ["nothing in the clear", "no client certificate", "another authority", "a certificate of another"]
)
def test_without_the_right_certificates_nothing_is_known(pki: Pki, tmp_path: Path, wrong: str) -> None:
    other_directory = tmp_path / "other"
    other_directory.mkdir()
    other = Pki(other_directory, Authority("other"))
    access = {
        "nothing in the clear": EstimatorAccess(enabled=True),
        "no client certificate": pki.access(certificate=None, key=None),
        "another authority": pki.access(authority=other.ca),
        "a certificate of another": other.access(authority=pki.ca),
    }[wrong]

    async def story(fleet: Fleet) -> None:
        server = await fleet.serve(pki.server)
        fleet.access = access
        assert await fleet.ask("member1") == {}
        fleet.access = pki.access()
        assert await fleet.ask("member1") == {"member1": 2}, "who has the right ones is answered"
        await server.close()

    tell(story)


def test_a_certificate_that_was_renewed_is_shown_from_then_on(pki: Pki) -> None:
    async def story(fleet: Fleet) -> None:
        server = await fleet.serve(pki.server)
        fleet.access = pki.access()
        async with fleet.channels() as channels:
            assert await channels.room("member1", ASKED) == 2
        renewed = Pki(pki.directory, Authority("renewed"))
        assert renewed.server.client_authority == renewed.ca
        fleet.access = renewed.access()
        assert await fleet.ask("member1") == {"member1": 2}
        await server.close()

    tell(story)


def _count(number: int) -> Callable[[], Awaitable[bytes]]:
    async def answer() -> bytes:
        return integer_field(1, number)

    return answer


async def _never() -> bytes:
    await asyncio.Event().wait()
    return b""


async def _garbled() -> bytes:
    return b"\x0a\xff"


async def _much() -> bytes:
    return bytes(MAX_ANSWER_BYTES * 4)


@pytest.mark.parametrize(
    ("answer", "known"),
    [
        (_count(2**40), {"member2": MAX_REPLICAS}),
        (_count(-1), {}),
        (_count(-(2**40)), {}),
        (_garbled, {}),
        (_much, {}),
    ],
    ids=["huge", "unauthentic", "negative", "garbled", "megabytes"],
)
def test_a_hostile_estimator_harms_only_what_is_known_of_its_own_cluster(
    answer: Callable[[], Awaitable[bytes]], known: Mapping[str, int]
) -> None:
    """Holds: S10."""

    async def story(fleet: Fleet) -> None:
        async with saying(answer) as port:
            await fleet.know("member2", port)
            server = await fleet.serve()
            assert await fleet.ask("member1", "member2") == {"member1": 2, **known}
            await server.close()

    tell(story)


def test_one_that_hangs_costs_its_deadline_once_and_is_asked_again_later() -> None:
    """Holds: S10."""

    async def story(fleet: Fleet) -> None:
        questions: list[asyncio.Event] = [asyncio.Event()]

        async def hang() -> bytes:
            questions[-1].set()
            questions.append(asyncio.Event())
            return await _never()

        async with saying(hang) as port, fleet.channels() as channels:
            await fleet.know("member2", port)
            server = await fleet.serve()
            heard = Heard(channels)
            estimators = fleet.estimators(heard)
            first = asyncio.ensure_future(estimators.room(ASKED, ["member1", "member2"]))
            await questions[0].wait()
            await heard.answered.wait()
            skip(DEADLINE)
            assert await first == {"member1": 2}
            for _ in range(5):
                assert await estimators.room(ASKED, ["member1", "member2"]) == {"member1": 2}
            assert not questions[1].is_set()
            skip(FIRST_REST_SECONDS)
            again = asyncio.ensure_future(estimators.room(ASKED, ["member2"]))
            await questions[1].wait()
            skip(DEADLINE)
            assert await again == {}
            await server.close()

    tell(story)


def test_a_server_that_comes_back_elsewhere_is_found() -> None:
    async def story(fleet: Fleet) -> None:
        async with fleet.channels() as channels:
            async with saying(_count(3)) as port:
                await fleet.know("member2", port)
                assert await channels.room("member2", ASKED) == 3
            with pytest.raises(Unreachable, match="estimator of member2: UNAVAILABLE"):
                await channels.room("member2", ASKED)
            async with saying(_count(4)) as port:
                ports = [{"port": PORT, "targetPort": port}]
                name = "karmada-scheduler-estimator-member2"
                await fleet.client.patch(SERVICES, name, {"spec": {"ports": ports}}, "karmada-system")
                assert await channels.room("member2", ASKED) == 4

    tell(story)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"ports": [{"port": 80, "targetPort": 80}]}, "port 10352 needs a numeric targetPort"),
        ({"ports": [{"port": PORT, "targetPort": "grpc"}]}, "port 10352 needs a numeric targetPort"),
    ],
    ids=["port", "name of a port"],
)
def test_a_service_that_leads_nowhere_is_named(change: Mapping[str, Any], problem: str) -> None:
    async def story(fleet: Fleet) -> None:
        await fleet.know("member2", 1)
        await fleet.client.patch(SERVICES, "karmada-scheduler-estimator-member2", {"spec": change}, "karmada-system")
        async with fleet.channels() as channels:
            with pytest.raises(ValueError, match=f"karmada-system/karmada-scheduler-estimator-member2: {problem}"):
                await channels.room("member2", ASKED)

    tell(story)


def test_a_service_with_pods_of_its_own_is_found_under_its_name_as_where_there_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Host cluster and control plane are one, where the chart has installed both."""
    looked_up: list[tuple[str, str, int]] = []

    async def found(name: str, namespace: str, port: int) -> str:
        looked_up.append((name, namespace, port))
        return "127.0.0.1"

    monkeypatch.setattr("leeward.estimator.channels._in_host_cluster", found)

    async def story(fleet: Fleet) -> None:
        await fleet.know("member2", 1)
        change = {"spec": {"type": "ClusterIP", "externalName": None, "clusterIP": "None"}}
        await fleet.client.patch(SERVICES, "karmada-scheduler-estimator-member2", change, "karmada-system")
        async with saying(_count(3)) as port:
            fleet.access = EstimatorAccess(enabled=True, port=port)
            async with fleet.channels() as channels:
                assert await channels.room("member2", ASKED) == 3
                assert await channels.room("member3", ASKED) == 3
        names = [
            (f"karmada-scheduler-estimator-{cluster}", "karmada-system", port) for cluster in ("member2", "member3")
        ]
        assert looked_up == names

    tell(story)


def test_more_calls_than_the_server_takes_are_refused_and_it_goes_on() -> None:
    async def story(fleet: Fleet) -> None:
        server = await fleet.serve()
        async with fleet.channels() as channels:
            answers = await asyncio.gather(
                *(channels.room("member1", ASKED) for _ in range(200)), return_exceptions=True
            )
            assert {answer for answer in answers if isinstance(answer, int)} == {2}
            assert await channels.room("member1", ASKED) == 2
        await server.close()

    tell(story)


@pytest.mark.parametrize("name", ["x" * 90, "é" * 60], ids=["letters", "bytes"])
def test_a_temporary_directory_with_a_long_name_keeps_no_estimator_from_serving(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / name).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / name))

    async def story(fleet: Fleet) -> None:
        server = await fleet.serve()
        assert await fleet.ask("member1") == {"member1": 2}
        await server.close()
        assert list((tmp_path / name).iterdir()) == []

    tell(story)


def test_a_socket_that_cannot_be_had_is_told_with_the_way_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """gRPC takes `%41` in a path for the letter A. Where no name is short enough there is no directory either."""
    odd = Path(tempfile.mkdtemp(prefix="%41"))
    monkeypatch.setattr(tempfile, "tempdir", str(odd))

    async def story(fleet: Fleet) -> None:
        with pytest.raises(OSError, match=r"gRPC cannot listen at .*%41.*: set TMPDIR to another directory"):
            await fleet.serve()
        monkeypatch.setattr(grpc_port, "SHORT_DIRECTORIES", ())
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
        with pytest.raises(OSError, match=r"no directory for the socket .*gone.*Set TMPDIR to a short one"):
            await fleet.serve()

    try:
        tell(story)
    finally:
        shutil.rmtree(odd)
