"""Neighbours: people with access to a member, who change copies there by hand, and keep things of their own there.

What they change of ours is written down in `touched`, because there everything is allowed to them; what is theirs
(`theirs`) nobody else may take away. What an autoscaler wants (`autoscaled`) nobody else may change.
"""

from kubeapi.core import PODS
from kubeapi.meta import Manifest
from kubeclient import Client, WorldError
from leeward.sim.world import World
from simulator.histories import manifests
from simulator.histories.ground_truth import is_ours
from simulator.histories.manifests import DEPLOYMENTS, NAMESPACE, is_autoscaled, kind_of
from simulator.histories.model import AnyUserStep, Autoscale, Meddle, Own, RestartPod, Shared, Squat
from simulator.histories.named_objects import PROVIDED, provided
from simulator.histories.persistent_client import PersistentClient


class Neighbours(PersistentClient):
    """`touched` are (member, plural, name). `configs` are the applications that are ConfigMaps, `shared` what of
    others is shared."""

    def __init__(self, world: World, configs: set[str], shared: dict[str, Shared]) -> None:
        super().__init__(world)
        self.touched: set[tuple[str, str, str]] = set()
        self.autoscaled: dict[tuple[str, str], int] = {}
        self._configs = configs
        self._shared = shared

    async def do(self, step: AnyUserStep) -> bool:
        """Returns when it is done, or was in vain; False where it is nothing for them."""
        match step:
            case Meddle():
                await self._meddle(step)
            case Autoscale():
                await self._autoscale(step)
            case Squat():
                await self._squat(step)
            case RestartPod():
                await self._restart(step)
            case Own(app=app, cluster=cluster):
                await self._own(self.at(cluster), app)
            case _:
                return False
        return True

    async def _meddle(self, step: Meddle) -> None:
        """Meddles once, if the member answers: whoever meddles does not insist."""
        client = self.at(step.cluster)
        kind = kind_of(step.app in self._configs)
        self.touched.add((step.cluster, kind.plural, step.app))
        try:
            if step.delete:
                await client.delete(kind, step.app, NAMESPACE)
                return
            copy = await client.get(kind, step.app, NAMESPACE)
            change: Manifest = {"metadata": {"labels": {"meddled": "true"}}}
            if "replicas" in copy.get("spec", {}):
                change["spec"] = {"replicas": copy["spec"]["replicas"] + 1}
            await client.patch(kind, step.app, change, NAMESPACE)
        except WorldError:
            return

    async def _autoscale(self, step: Autoscale) -> None:
        """Scales once, where there is a copy that may be scaled by others than us."""
        client = self.at(step.cluster)
        try:
            copy = await client.get(DEPLOYMENTS, step.app, NAMESPACE)
            if is_ours(copy) and is_autoscaled(copy):
                self.autoscaled[step.cluster, step.app] = step.replicas
                await client.patch(DEPLOYMENTS, step.app, {"spec": {"replicas": step.replicas}}, NAMESPACE)
        except WorldError:
            return

    async def _squat(self, step: Squat) -> None:
        client = self.at(step.cluster)
        kind, manifest = kind_of(step.config), manifests.template(step.app, step.config, 1, version=99)
        if step.named:
            kind, manifest = PROVIDED[step.named], provided(step.app, step.named, 99)
        manifest["metadata"]["labels"] = {"app": step.app, "owner": "someone-else"}
        try:
            await client.create(kind, manifest, NAMESPACE)
        except WorldError:
            return

    async def _restart(self, step: RestartPod) -> None:
        """The first by name; another one takes its place."""
        client = self.at(step.cluster)
        try:
            pods = [
                pod for pod in (await client.list(PODS, NAMESPACE)).items if pod.metadata.labels.get("app") == step.app
            ]
            if pods:
                await client.delete(PODS, min(pod.name for pod in pods), NAMESPACE)
        except WorldError:
            return

    async def _own(self, client: Client, app: str) -> None:
        """Puts something of its own there once: there may be nothing of it here."""
        what = self._shared.get(app)
        found = manifests.own(app, what) if what is not None else None
        if found is None:
            return
        resource, manifest, namespace = found
        try:
            await client.create(resource, manifest, namespace)
        except WorldError:
            return
