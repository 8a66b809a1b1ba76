"""Estimators of the members of a world: what `leeward scheduler-estimator` answers, without the network between."""

from collections.abc import Awaitable, Callable, Mapping

from kubeapi.errors import Unreachable
from kubeapi.loop.randomness import Randomness
from kubeapi.loop.supervisor import Supervisor
from kubeapi.loop.virtual import run_virtual
from kubecluster.settings import WorkloadSettings
from leeward.api.work import BindingResource
from leeward.core.scheduling.estimates import Question
from leeward.estimator.answering import MemberEstimates
from leeward.estimator.messages import RoomRequest, UnschedulableRequest
from leeward.manager.settings import ManagerSettings
from leeward.manager.timing import Timing
from leeward.runtime.controller_context import Member
from leeward.sim.world import World

MEMBERS = ("member1", "member2", "member3")


class WorldEstimator:
    """The way to them. `gone` are clusters whose estimator does not answer."""

    def __init__(self) -> None:
        self.world: World | None = None
        self.gone: set[str] = set()
        self.asked: list[str] = []
        self.supervisor = Supervisor("estimators")
        self._estimates: dict[str, MemberEstimates] = {}

    async def room(self, cluster: str, question: Question) -> int:
        return await self._of(cluster).available(RoomRequest(cluster, question))

    async def unschedulable(self, cluster: str, workload: BindingResource, threshold_seconds: float) -> int:
        return await self._of(cluster).unschedulable(UnschedulableRequest(cluster, workload, threshold_seconds))

    async def forget(self, cluster: str) -> None:
        self._estimates.pop(cluster, None)

    def _of(self, cluster: str) -> MemberEstimates:
        self.asked.append(cluster)
        assert self.world is not None
        if cluster in self.gone:
            raise Unreachable(f"the estimator of {cluster} is gone")
        if cluster not in self._estimates:
            member = Member.of(cluster, self.world.member(cluster).client, Randomness(0), self.supervisor)
            self._estimates[cluster] = MemberEstimates(member, self.world.clock)
        return self._estimates[cluster]


def play_with_estimators(
    story: Callable[[World, WorldEstimator], Awaitable[None]],
    sizes: Mapping[str, WorkloadSettings],
    manager: Callable[[WorldEstimator], ManagerSettings],
) -> None:
    """Runs a story in a fresh world of three Push members, with nodes of these sizes, which are Ready."""

    async def run() -> None:
        estimator = WorldEstimator()
        world = World(dict.fromkeys(MEMBERS, "Push"), Timing.karmada(), manager=manager(estimator))
        for name, size in sizes.items():
            world.member(name).workloads, world.member(name).nodes = size, size.nodes
        estimator.world = world
        async with world:
            await world.until(lambda: all(world.is_ready(name) for name in MEMBERS), 60)
            await story(world, estimator)
            await estimator.supervisor.close()

    run_virtual(run())
