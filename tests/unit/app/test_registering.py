"""An agent gets its identity with a bootstrap token, and renews it before it ends."""

import asyncio
import base64
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import yaml
from cryptography import x509

from kubeapi.certificate_requests import subject_of_certificate
from kubeapi.core import SECRETS
from kubeapi.loop.clock import VirtualClock
from kubeapi.loop.supervisor import Supervisor
from kubeclient import Client
from kubeclient.connection import Connection
from kubeclient.kubeconfig import load
from kubeserver.handler import User
from kubeserver.inprocess import InProcessTransport
from leeward.api.names import AGENT_GROUP, SYSTEM_NAMESPACE
from leeward.app.bootstrap_tokens import NAMESPACE, PREFIX, create_token, delete_token, list_tokens
from leeward.app.cluster_info import hashes_of
from leeward.app.local.errors import FleetError
from leeward.app.registering import obtain_certificate, renew_at, subject_of_agent, write_kubeconfig
from leeward.app.renewal import CertificateRenewal, KubeconfigSecret
from leeward.manager.agents import AGENT_ACCESS, approve_agents
from tests.certificates import Authority, client_authority
from tests.chart_files import NAMESPACES
from tests.kubeserver.api_world import ApiWorld, tell

AGENT = User("system:karmada:agent:member1", (AGENT_GROUP, "system:authenticated"))
SERVER = Connection(server="https://control-plane.example")


async def newcomer(world: ApiWorld) -> Client:
    """Somebody with a bootstrap token."""
    token = await create_token(Client(world.transport), VirtualClock().now() + timedelta(hours=1), "")
    user = User(f"system:bootstrap:{token.id}", ("system:bootstrappers", "system:authenticated"))
    return Client(InProcessTransport(world.server, user))


def test_a_token_is_made_listed_without_its_secret_half_and_deleted() -> None:
    async def story(world: ApiWorld) -> None:
        client = Client(world.transport)
        made = await create_token(client, VirtualClock().now() + timedelta(hours=1), "for member1")
        secret = await client.get(SECRETS, PREFIX + made.id, NAMESPACE)
        assert str(made) == f"{made.id}.{secret.data['token-secret'].decode()}"
        (listed,) = await list_tokens(client)
        assert (listed.id, listed.secret, listed.description) == (made.id, "", "for member1")
        await delete_token(client, str(made))
        assert await list_tokens(client) == []
        with pytest.raises(FleetError, match="there is no bootstrap token"):
            await delete_token(client, made.id)

    tell(story)


def test_an_agent_gets_a_certificate_for_its_own_name_and_a_kubeconfig_that_holds_it(tmp_path: Path) -> None:
    async def story(world: ApiWorld) -> None:
        async with Supervisor("signer") as supervisor:
            supervisor.start(world.server.certificate_signer(*client_authority(), approve_agents).run(), "signer")
            known = await obtain_certificate(await newcomer(world), SERVER, "member1")
            assert subject_of_certificate(known.client_certificate) == subject_of_agent("member1")
            authority, _ = client_authority()
            write_kubeconfig(tmp_path / "agent", replace(known, certificate_authority=authority), "member1")
            loaded = load(tmp_path / "agent")
            assert (loaded.client_certificate, loaded.client_key) == (known.client_certificate, known.client_key)

    tell(story)


def test_what_nobody_signs_is_given_up_with_a_hint_of_who_does_not() -> None:
    async def story(world: ApiWorld) -> None:
        with pytest.raises(FleetError, match="nobody has signed"):
            await obtain_certificate(await newcomer(world), SERVER, "member1")

    tell(story)


def test_a_certificate_is_renewed_with_itself_before_it_ends_and_is_kept(tmp_path: Path) -> None:
    async def story(world: ApiWorld) -> None:
        taken: list[Connection] = []

        async def take(renewed: Connection) -> None:
            taken.append(renewed)

        async with Supervisor("signer") as supervisor:
            supervisor.start(world.server.certificate_signer(*client_authority(), approve_agents).run(), "signer")
            first = await obtain_certificate(await newcomer(world), SERVER, "member1")
            agent, kubeconfig = Client(InProcessTransport(world.server, AGENT)), tmp_path / "agent"
            clock = VirtualClock()
            renewal = CertificateRenewal(agent, clock, "member1", kubeconfig, first, take)
            supervisor.start(renewal.run(), "renewal")
            due = renew_at(first.client_certificate)
            await asyncio.sleep((due - clock.now()).total_seconds() - 1)
            assert not taken
            await asyncio.sleep(10)
        (renewed,) = taken
        assert ends(renewed) > ends(first)
        assert yaml.safe_load(kubeconfig.read_text())["users"][0]["name"] == AGENT.name

    tell(story, objects=AGENT_ACCESS)


def test_a_certificate_of_a_pod_is_kept_in_the_secret_that_is_mounted(tmp_path: Path) -> None:
    async def story(world: ApiWorld) -> None:
        async def take(_renewed: Connection) -> None: ...

        member, mounted = Client(InProcessTransport(world.server)), {"karmada-kubeconfig": "b2xk", "other": "a2VwdA=="}
        secret = {"metadata": {"name": "agent"}, "data": mounted}
        await member.create(NAMESPACES, {"metadata": {"name": SYSTEM_NAMESPACE}})
        await member.create(SECRETS, secret, SYSTEM_NAMESPACE)
        async with Supervisor("signer") as supervisor:
            supervisor.start(world.server.certificate_signer(*client_authority(), approve_agents).run(), "signer")
            first = await obtain_certificate(await newcomer(world), SERVER, "member1")
            agent, clock = Client(InProcessTransport(world.server, AGENT)), VirtualClock()
            where, path = KubeconfigSecret(member, "agent"), tmp_path / "karmada-kubeconfig"
            renewal = CertificateRenewal(agent, clock, "member1", path, first, take, where)
            supervisor.start(renewal.run(), "renewal")
            await asyncio.sleep((renew_at(first.client_certificate) - clock.now()).total_seconds() + 10)
        assert not path.exists()
        kept = (await member.get(SECRETS, "agent", SYSTEM_NAMESPACE)).data
        assert kept["other"] == b"kept"
        known = yaml.safe_load(kept["karmada-kubeconfig"])["users"][0]["user"]
        assert base64.b64decode(known["client-certificate-data"]) != first.client_certificate

    tell(story, objects=AGENT_ACCESS)


def ends(connection: Connection) -> float:
    return x509.load_pem_x509_certificate(connection.client_certificate).not_valid_after_utc.timestamp()


def test_a_bundle_that_is_none_is_known_by_nothing() -> None:
    assert hashes_of(b"no certificate") == []
    (known,) = hashes_of(Authority().certificate)
    assert known.startswith("sha256:")
