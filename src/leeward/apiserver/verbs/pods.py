"""What can be done with a Pod beyond writing it: binding it to a node, evicting it, and looking into its containers.

There is no kubelet behind this server: a Pod that runs nowhere answers as in Kubernetes, and one that runs says that
its node cannot be reached.
"""

from dataclasses import dataclass
from typing import Any

from leeward.api import codec
from leeward.api.meta import Manifest, format_time
from leeward.apiserver import refusals
from leeward.apiserver.admission import AdmissionReview
from leeward.apiserver.handler import User
from leeward.apiserver.kinds.kind import Kind
from leeward.apiserver.refusals import Refused
from leeward.apiserver.registry.deleting import DeleteOptions, Deleter
from leeward.apiserver.registry.objects import decode_stored
from leeward.apiserver.registry.reading import read_one
from leeward.apiserver.registry.writing import Writer
from leeward.apiserver.values import entries, grown, section
from leeward.apiserver.verbs.eviction import take_disruption
from leeward.client.transport import Response

_OPTIONS = {
    "attach": "PodAttachOptions",
    "exec": "PodExecOptions",
    "portforward": "PodPortForwardOptions",
    "proxy": "PodProxyOptions",
}
_DEEDS = {"binding": ("v1", "Binding"), "eviction": ("policy/v1", "Eviction")}
ACTIONS = ("attach", "binding", "eviction", "exec", "log", "portforward", "proxy")
_SUCCESS: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


@dataclass(frozen=True, slots=True)
class PodActions:
    writer: Writer
    deleter: Deleter

    async def answer(
        self, kind: Kind, namespace: str, name: str, action: str, method: str, body: Manifest | None, user: User
    ) -> Response:
        """Raises: Refused."""
        if action in ("binding", "eviction"):
            if method != "POST" or body is None:
                raise refusals.method_not_allowed()
            act = self._bind if action == "binding" else self._evict
            await self._admit("CREATE", kind, namespace, name, action, body, user)
            await act(kind, namespace, name, body, user)
            return Response(201, codec.encode(_SUCCESS), {"content-type": refusals.JSON})
        if action in _OPTIONS:
            options: Manifest = {"kind": _OPTIONS[action], "apiVersion": "v1"}
            await self._admit("CONNECT", kind, namespace, name, action, options, user)
        return self._look(kind, namespace, name, action)

    async def _admit(
        self, operation: str, kind: Kind, namespace: str, name: str, action: str, said: Manifest, user: User
    ) -> None:
        if action in _DEEDS:
            said["apiVersion"], said["kind"] = _DEEDS[action]
        dry_run = bool(section(said, "deleteOptions").get("dryRun"))
        await self.writer.admission.ask(
            AdmissionReview(operation, kind, namespace, said, None, user, dry_run, action, name)
        )

    async def _bind(self, kind: Kind, namespace: str, name: str, binding: Manifest, user: User) -> None:
        node = section(binding, "target").get("name", "")
        if not node:
            raise refusals.bad_request("target.name: Required value: the node that the pod shall run on")

        def bound(pod: Manifest) -> Manifest:
            spec, taken = grown(pod, "spec"), section(pod, "spec").get("nodeName")
            if taken:
                raise refusals.conflict("", "pods/binding", name, f'pod {name} is already assigned to node "{taken}"')
            spec["nodeName"] = node
            status = grown(pod, "status")
            others = [c for c in entries(status, "conditions") if c.get("type") != "PodScheduled"]
            since = format_time(self.writer.clock.now())
            scheduled = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": since}
            status["conditions"] = [*others, scheduled]
            return pod

        await self.writer.change(kind, namespace, name, bound, user, dry_run=False, subresource="binding")

    async def _evict(self, kind: Kind, namespace: str, name: str, eviction: Manifest, user: User) -> None:
        if section(eviction, "metadata").get("name") != name:
            raise refusals.bad_request("name in URL does not match name in Eviction object")
        options = section(eviction, "deleteOptions")
        grace, dry_run = options.get("gracePeriodSeconds"), bool(options.get("dryRun"))
        pod = decode_stored(kind, read_one(self.writer.store, kind, namespace, name, None).value)
        await take_disruption(self.writer, pod, dry_run)
        await self.deleter.delete(kind, namespace, name, DeleteOptions(grace, dry_run=dry_run), user)

    def _look(self, kind: Kind, namespace: str, name: str, action: str) -> Response:
        pod = decode_stored(kind, read_one(self.writer.store, kind, namespace, name, None).value)
        node = section(pod, "spec").get("nodeName", "")
        if not node and action == "log":
            return Response(204, b"", {})
        raise _not_running(name) if not node else _no_kubelet(node, action)


def _not_running(name: str) -> Refused:
    return refusals.bad_request(f"pod {name} does not have a host assigned")


def _no_kubelet(node: str, action: str) -> Refused:
    return refusals.internal_error(f"{action}: there is no kubelet on node {node}")
