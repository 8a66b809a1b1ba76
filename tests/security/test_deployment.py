"""Rights of what is deployed: to do what it does, and no more.

The attacker has got into one of Leeward's processes, or has its service account's token.

They ask the control plane for what the component has no use for, write into the image, reach for the metadata service
of the machine, or take all of its memory.

They must not get: a right that the component does not use, a writable file system, a way to link-local addresses, or
more than the limits of the Pod. So each component does its work here with the rights of its own account alone, on the
embedded API server, and what it asks for is compared with its role.
"""

import asyncio
import base64
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from controller_runtime.leader import LeaderElector
from kubeapi.certificate_requests import make_request
from kubeapi.codec import encode, parse_yaml
from kubeapi.core import SECRETS, Secret
from kubeapi.loop.supervisor import Supervisor
from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeapi.transport import Request, Response
from kubeclient import AlreadyExists, Client, Forbidden, Transport
from kubecluster.network import LinkedTransport
from kubeserver.auth.authorization.attributes import attributes_of
from kubeserver.handler import User
from leeward.answers.reading import read_fleet
from leeward.api.cluster import Cluster
from leeward.api.names import SYSTEM_NAMESPACE
from leeward.api.resource import CLUSTERS, FEDERATED_RESOURCE_QUOTAS, PRIORITY_CLASSES, WORKLOAD_REBALANCERS, WORKS
from leeward.app.bootstrap_tokens import create_token
from leeward.app.install.manifests import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    CONTROLLER_MANAGER,
    DESCHEDULER,
    ROLE_BINDINGS,
    ROLES,
    SCHEDULER,
    WEBHOOK,
    granted_to_agents,
    rights,
)
from leeward.app.registering import subject_of_agent
from leeward.core.registration import SIGNER, USAGES
from leeward.manager.choice import BY_DEFAULT, Choice
from leeward.manager.choice import DESCHEDULER as GIVING_BACK
from leeward.manager.choice import SCHEDULER as PLACING
from leeward.manager.control_plane import ControllerManager
from leeward.manager.gates import switch_gates
from leeward.manager.settings import ManagerSettings
from leeward.manager.timing import Timing
from leeward.runtime.certificate_requests import REQUESTS
from leeward.runtime.sharding import LeaderSettings
from leeward.sim.world import ADMIN, CONTROLLERS, Mode, World
from tests.rendered_chart import CHART, WHOLE, components, rendered
from tests.world.estimators import WorldEstimator, play_with_estimators
from tests.world.stories import CONFIG_MAPS, DEPLOYMENTS, apply, by_weight, deployment, play, policy
from tests.world.test_dashboard import Page
from tests.world.test_descheduler import SIZES, stuck, with_descheduler
from tests.world.test_outage_objects import fill_up

ROOT = Path(__file__).parents[2]
NAMES = [deployment["metadata"]["name"] for deployment in components()]
CLUSTER_POLICIES: Resource[Manifest] = Resource.of_manifests(
    "policy.karmada.io/v1alpha1", "clusterpropagationpolicies", "ClusterPropagationPolicy", False
)


class Right(NamedTuple):
    """`resource` has its subresource behind a slash; of another path it is that path."""

    verb: str
    group: str
    resource: str


def account(name: str) -> User:
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{SYSTEM_NAMESPACE}", "system:authenticated")
    return User(f"system:serviceaccount:{SYSTEM_NAMESPACE}:{name}", groups)


class Recorder:
    """A `Transport` that writes down what is asked for, and what was refused."""

    def __init__(self, inner: Transport, asked: set[Right], refused: set[Right]) -> None:
        self._inner, self._asked, self._refused = inner, asked, refused

    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        response = await self._inner.send(request, timeout_seconds=timeout_seconds)
        (self._refused if response.code == 403 else self._asked).add(right_of(request))
        return response

    def stream(self, request: Request) -> Any:
        return self._stream(request)

    @asynccontextmanager
    async def _stream(self, request: Request) -> AsyncGenerator[AsyncIterator[bytes]]:
        try:
            async with self._inner.stream(request) as lines:
                self._asked.add(right_of(request))
                yield lines
        except Forbidden:
            self._refused.add(right_of(request))
            raise

    async def close(self) -> None:
        await self._inner.close()


def right_of(request: Request) -> Right:
    asked = attributes_of(request)
    resource = f"{asked.resource}/{asked.subresource}" if asked.subresource else asked.resource
    return Right(asked.verb, asked.group, resource or asked.path)


class Apart(World):
    """A world in which the components run apart, each with the rights of its own account."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.asked: dict[str, set[Right]] = {CONTROLLER_MANAGER: set(), SCHEDULER: set()}
        self.refused: dict[str, set[Right]] = {CONTROLLER_MANAGER: set(), SCHEDULER: set()}

    async def _start_apiserver(self) -> None:
        await super()._start_apiserver()
        for resource, namespace, manifest in rights():
            try:
                await self.client.create(resource, manifest, namespace)
            except AlreadyExists:
                continue

    def transport(self, component: str) -> Transport:
        link = LinkedTransport(self.place, account(component), self.link(CONTROLLERS, self.NAME))
        return Recorder(link, self.asked[component], self.refused[component])

    def start_manager(self, supervisor: Supervisor, fence: Callable[[Transport], Transport]) -> ControllerManager:
        def connect(cluster: Cluster, _: Secret | None) -> Client:
            place = self.members[cluster.name].place
            return Client(LinkedTransport(place, ADMIN, self.link(CONTROLLERS, cluster.name)), CONTROLLERS)

        managers: list[ControllerManager] = []
        for component, names in ((SCHEDULER, (PLACING,)), (CONTROLLER_MANAGER, BY_DEFAULT)):
            client = Client(self.transport(component), component)
            plane = self.plane(client, supervisor, self.controllers_clock)
            settings = replace(self._settings, controllers=Choice(by_default=frozenset(names)))
            managers.append(ControllerManager(plane, connect, settings))
            managers[-1].start()
            elector = LeaderElector(client, component, "one", self.clock, self.randomness, LeaderSettings())
            supervisor.start(elector.lead(_for_ever), "leader")
        return managers[-1]


async def _for_ever() -> None:
    await asyncio.Event().wait()


async def live(world: Apart) -> None:
    """Lets the components do all that they do: joining, registering, placing with what is depended on, failing over and
    telling of it, braking, rebalancing, unjoining."""
    await world.until(lambda: all(world.is_ready(name) for name in world.members), 300)
    web, everywhere_alike = deployment("web", 3), policy("web", by_weight(dict.fromkeys(world.members, 1)))
    web["spec"]["template"]["spec"]["containers"][0]["envFrom"] = [{"configMapRef": {"name": "settings"}}]
    everywhere_alike["spec"]["propagateDeps"] = True
    await world.client.create(CONFIG_MAPS, {"metadata": {"name": "settings"}}, "default")
    most = {"configmaps": "9"}
    limits = {"overall": most, "staticAssignments": [{"clusterName": "member1", "hard": most}]}
    quota = {"metadata": {"name": "team"}, "spec": limits}
    await world.client.create(FEDERATED_RESOURCE_QUOTAS, quota, "default")
    await apply(world.client, web, everywhere_alike)
    await everywhere(world)
    await register(world, "member9")
    await world.sleep(60)
    assert world.assigned("web-deployment") == dict.fromkeys(world.members, 1)
    workloads = [{"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "web"}]
    spec = {"workloads": workloads, "ttlSecondsAfterFinished": 10}
    await world.client.create(WORKLOAD_REBALANCERS, {"metadata": {"name": "again"}, "spec": spec})
    await fill_up(world)
    await world.member("member1").stop()
    await world.sleep(90)
    assert "member1" not in world.assigned("web-deployment")
    for name in ("member2", "member3"):
        await world.member(name).stop()
    await world.sleep(60)
    for name in world.members:
        await world.member(name).start()
    await world.sleep(60)
    for name in ("member2", "member3"):
        await world.client.delete(CLUSTERS, name)
    await world.sleep(60)
    await world.client.delete(DEPLOYMENTS, "web", "default")
    await world.sleep(60)


async def everywhere(world: Apart) -> None:
    """A template without a namespace."""
    value = {
        "apiVersion": PRIORITY_CLASSES.api_version,
        "kind": "PriorityClass",
        "metadata": {"name": "shared"},
        "value": 7,
    }
    await world.client.create(PRIORITY_CLASSES, value)
    shared = policy("shared", {"clusterAffinity": {}}, "PriorityClass", PRIORITY_CLASSES.api_version)
    await world.client.create(CLUSTER_POLICIES, {**shared, "kind": "ClusterPropagationPolicy"})


async def register(world: Apart, cluster: str) -> None:
    """Registers as one does who has a bootstrap token."""
    token = await create_token(world.client, None, "", cluster)
    groups = ("system:bootstrappers", f"system:bootstrappers:leeward:cluster:{cluster}", "system:authenticated")
    newcomer = Client(LinkedTransport(world.place, User(f"system:bootstrap:{token.id}", groups)))
    request = base64.b64encode(make_request(subject_of_agent(cluster)).request).decode()
    spec = {"signerName": SIGNER, "request": request, "usages": list(USAGES)}
    name = (await newcomer.create(REQUESTS, {"metadata": {"generateName": "agent-"}, "spec": spec}))["metadata"]["name"]
    await world.sleep(10)
    status: Any = (await world.client.get(REQUESTS, name))["status"]
    assert [condition["type"] for condition in status["conditions"]] == ["Approved"]


@pytest.fixture(scope="module")
def lived() -> Apart:
    async def main() -> Apart:
        members: Mapping[str, Mode] = {"member1": "Push", "member2": "Push", "member3": "Pull"}
        gates = switch_gates([("FederatedQuotaEnforcement", True), ("ResourceQuotaEstimate", True)])
        async with Apart(members, Timing.fast(), manager=ManagerSettings(gates=gates)) as world:
            await live(world)
        return world

    return run_virtual(main())


def rules_of(component: str) -> list[Manifest]:
    (role,) = [m for resource, _, m in rights() if resource is CLUSTER_ROLES and m["metadata"]["name"] == component]
    return role["rules"]


def rights_in(rules: list[Manifest]) -> set[Right]:
    """Each right by itself, but for those on paths."""
    return {
        Right(verb, group, resource)
        for rule in rules
        for verb in rule["verbs"]
        for group in rule.get("apiGroups", ())
        for resource in rule.get("resources", ())
    }


@pytest.mark.parametrize("component", [CONTROLLER_MANAGER, SCHEDULER])
@pytest.mark.long
def test_a_component_does_its_work_with_the_rights_of_its_account_alone(lived: Apart, component: str) -> None:
    assert len(lived.asked[component]) > 15
    assert lived.refused[component] == set()


@pytest.mark.parametrize("component", [CONTROLLER_MANAGER, SCHEDULER])
def test_a_component_has_no_right_that_it_does_not_use(lived: Apart, component: str) -> None:
    """But for `get` where it lists, which caches do when in doubt, and for what it gives to agents."""
    asked = lived.asked[component]
    listed = {Right("get", right.group, right.resource) for right in asked if right.verb == "list"}
    whole = rights_in(rules_of(component))
    unused = {right for right in whole - asked - listed if right.group != "*"}
    if component == CONTROLLER_MANAGER:
        unused -= rights_in(granted_to_agents())
        unused.discard(Right("approve", "certificates.k8s.io", "signers"))
    assert unused == set()


@pytest.mark.long
def test_a_descheduler_gives_back_with_the_rights_of_its_account_alone_and_uses_each_of_them() -> None:
    asked: set[Right] = set()
    refused: set[Right] = set()

    def without_descheduler(estimator: WorldEstimator) -> ManagerSettings:
        return replace(with_descheduler(estimator), controllers=Choice(by_default=frozenset((*BY_DEFAULT, PLACING))))

    async def story(world: World, estimator: WorldEstimator) -> None:
        for resource, namespace, manifest in rights():
            with suppress(AlreadyExists):
                await world.client.create(resource, manifest, namespace)
        link = LinkedTransport(world.place, account(DESCHEDULER), world.link(CONTROLLERS, world.NAME))
        client = Client(Recorder(link, asked, refused), DESCHEDULER)
        alone = Choice(by_default=frozenset((GIVING_BACK,)))
        async with Supervisor(DESCHEDULER) as supervisor:
            plane = world.plane(client, supervisor, world.controllers_clock)
            settings = replace(with_descheduler(estimator), controllers=alone)
            ControllerManager(plane, lambda _cluster, _secret: world.client, settings).start()
            elector = LeaderElector(client, DESCHEDULER, "one", world.clock, world.randomness, LeaderSettings())
            supervisor.start(elector.lead(_for_ever), "leader")
            await stuck(world, estimator)
            await world.until(lambda: world.assigned("web-deployment") == {"member1": 2, "member2": 3}, 500)

    play_with_estimators(story, SIZES, without_descheduler)
    assert refused == set()
    listed = {Right("get", right.group, right.resource) for right in asked if right.verb == "list"}
    when_it_starts, when_it_repeats = Right("get", "", "namespaces"), Right("patch", "", "events")
    assert rights_in(rules_of(DESCHEDULER)) - asked - listed == {when_it_starts, when_it_repeats}


def test_only_the_controllers_reach_every_kind_and_they_may_only_read_and_patch_it() -> None:
    """Any kind may be a template. Nobody creates, deletes or replaces one, impersonates, binds or escalates."""
    for component in (CONTROLLER_MANAGER, SCHEDULER, DESCHEDULER, WEBHOOK):
        found = rights_in(rules_of(component))
        everything = {right.verb for right in found if "*" in (right.group, right.resource)}
        assert everything == ({"get", "list", "watch", "patch"} if component == CONTROLLER_MANAGER else set())
        assert not {right.verb for right in found} & {"*", "impersonate", "bind", "escalate", "deletecollection"}
        secrets = {right.verb for right in found if right.resource == "secrets"}
        assert secrets == ({"create", "get", "patch", "update"} if component == WEBHOOK else set())


def pods() -> Mapping[str, Manifest]:
    return {deployment["metadata"]["name"]: deployment["spec"]["template"] for deployment in components()}


@pytest.mark.parametrize("component", NAMES)
def test_a_container_writes_nowhere_but_to_a_small_directory_in_memory(component: str) -> None:
    spec = pods()[component]["spec"]
    (container,) = spec["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    written = [mount for mount in container["volumeMounts"] if not mount.get("readOnly")]
    assert written == [{"name": "tmp", "mountPath": "/tmp"}]
    volumes = [volume for volume in spec["volumes"] if "secret" not in volume]
    assert volumes == [{"name": "tmp", "emptyDir": {"medium": "Memory", "sizeLimit": "16Mi"}}]


@pytest.mark.parametrize("component", NAMES)
def test_a_container_has_limits_and_asks_for_no_more(component: str) -> None:
    (container,) = pods()[component]["spec"]["containers"]
    resources = container["resources"]
    assert set(resources["limits"]) == {"cpu", "memory"}
    assert set(resources["requests"]) == {"cpu", "memory"}


@pytest.mark.parametrize("component", NAMES)
def test_nobody_reaches_more_than_the_ports_of_a_pod_and_it_reaches_no_link_local_address(component: str) -> None:
    labels = pods()[component]["metadata"]["labels"]
    named = [each for each in parse_yaml(WHOLE.read_text()) if each["kind"] == "NetworkPolicy"]
    policies = [each for each in named if each["spec"]["podSelector"]["matchLabels"] == labels]
    (found,) = policies
    assert found["spec"]["policyTypes"] == ["Ingress", "Egress"]
    (container,) = pods()[component]["spec"]["containers"]
    opened = {port["port"] for rule in found["spec"]["ingress"] for port in rule["ports"]}
    assert opened == {port["containerPort"] for port in container["ports"]}
    blocks = [to["ipBlock"] for rule in found["spec"]["egress"] for to in rule.get("to", ()) if "ipBlock" in to]
    assert {block["cidr"]: block["except"] for block in blocks} == {
        "0.0.0.0/0": ["169.254.0.0/16"],
        "::/0": ["fe80::/10"],
    }


def test_the_dashboard_sees_a_whole_fleet_with_the_rights_of_the_chart() -> None:
    """Fleet as the account of the chart sees it. It lists no Secrets, but in Works it reads those that go out."""
    account = "leeward-dashboard"
    subjects = [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": account}]
    granted = {each["kind"]: each for each in rendered("dashboard.yaml") if "rules" in each or "roleRef" in each}

    async def story(world: World) -> None:
        await apply(world.client, deployment("web", 2), policy("web", by_weight({"member1": 1})))
        await world.until(lambda: bool(world.assigned("web-deployment")), 60)
        for resource, kind in ((CLUSTER_ROLES, "ClusterRole"), (CLUSTER_ROLE_BINDINGS, "ClusterRoleBinding")):
            await world.client.create(resource, {**granted[kind], "subjects": subjects})
        for resource, kind in ((ROLES, "Role"), (ROLE_BINDINGS, "RoleBinding")):
            await world.client.create(resource, {**granted[kind], "subjects": subjects}, SYSTEM_NAMESPACE)
        client = Client(LinkedTransport(world.place, User(account, ("system:authenticated",))), "page")
        async with Supervisor("page") as supervisor:
            page = Page(world, supervisor, client=client)
            await page.told(world, 30)
            assert page.fleet["unseen"] == []
            assert page.fleet["settingsTold"]
            assert page.fleet["brake"] is not None
        assert (await read_fleet(client, world.clock)).recorded.unseen == ()
        with pytest.raises(Forbidden):
            await client.list(SECRETS, "default")
        await world.client.create(
            SECRETS, {"metadata": {"name": "key"}, "stringData": {"key": "opensesame"}}, "default"
        )
        await apply(world.client, policy("key", by_weight({"member1": 1}), "Secret", "v1"))
        await world.until(lambda: bool(world.assigned("key-secret")), 60)
        await world.sleep(5)
        assert base64.b64encode(b"opensesame") in encode((await client.list(WORKS)).items)

    play(story)


def test_the_image_installs_what_runs_and_nothing_to_develop_with() -> None:
    dockerfile = (ROOT / "deploy" / "Dockerfile").read_text()
    assert "requirements.lock" not in dockerfile
    runtime = (ROOT / "deploy" / "requirements.txt").read_text()
    installed = {line.split("==")[0] for line in runtime.splitlines() if "==" in line}
    locked = dict(line.split(" ")[0].split("==") for line in lock_lines("requirements.lock"))
    assert {name: locked[name] for name in installed} == dict(
        line.split(" ")[0].split("==") for line in lock_lines("deploy/requirements.txt")
    )
    assert {"aiohttp", "cryptography", "msgspec", "numpy"} <= installed
    assert not installed & {"pytest", "ruff", "pyright", "hypothesis", "mutmut", "kubernetes", "hatchling", "pip-audit"}
    assert "--hash=sha256:" in runtime


def test_the_image_is_built_of_nothing_that_this_machine_has_made() -> None:
    """`COPY web` would lay its packages over those of the lock, and `COPY src` an old page beside the new one."""
    left_out = {line for line in (ROOT / ".dockerignore").read_text().splitlines() if not line.startswith("#")}
    assert left_out >= {".git", ".venv", "build", "dist", "web/node_modules", "src/leeward/dashboard/page"}
    assert not [line for line in left_out if line.startswith("!")]


def lock_lines(path: str) -> list[str]:
    return [line for line in (ROOT / path).read_text().splitlines() if "==" in line and not line.startswith(" ")]


def test_the_image_has_its_base_by_an_argument_and_no_digest_that_nobody_has_seen() -> None:
    dockerfile = (ROOT / "deploy" / "Dockerfile").read_text()
    assert dockerfile.splitlines()[0].startswith("#")
    assert [line for line in dockerfile.splitlines() if line.startswith("FROM ")] == [
        "FROM ${NODE} AS page",
        "FROM ${BASE} AS build",
        "FROM ${BASE}",
    ]
    assert "COPY --from=page /src/src/leeward/dashboard/page src/leeward/dashboard/page" in dockerfile
    assert "USER 65532:65532" in dockerfile
    assert CHART.exists()
