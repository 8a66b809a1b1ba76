"""Requests for a Pod beyond writing it: binding it to a node, evicting it, and looking into its containers.

A Pod that runs nowhere answers as in Kubernetes. Whoever composes the server may say who stands for the kubelets of
its nodes (`ApiServer.reach_kubelet`); without one, a Pod that runs says that its node cannot be reached.

Kubernetes: pkg/registry/core/pod/storage. Same, but that a binding gives the Pod no labels of its node.
"""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any

from msgspec import structs

from kubeapi import codec
from kubeapi.diff import is_equal
from kubeapi.meta import Manifest, ReadOnlyManifest, format_time
from kubeapi.status import Problem
from kubeapi.transport import Request, Response
from kubeserver import errors
from kubeserver.admission import AdmissionReview
from kubeserver.builtin_kinds import BUILT_IN
from kubeserver.errors import Refused
from kubeserver.handler import StreamResponse
from kubeserver.handlers.bodies import check_namespace, read_body
from kubeserver.handlers.call import Call
from kubeserver.handlers.eviction import take_disruption
from kubeserver.kinds.kind import Kind
from kubeserver.registry.deleting import Deleter, delete_options
from kubeserver.registry.objects import decode_stored, metadata_of
from kubeserver.registry.options import write_options
from kubeserver.registry.reading import read_one
from kubeserver.registry.writing import Writer
from kubeserver.routing import Target
from kubeserver.values import entries, grown, section

_OPTIONS = {
    "attach": "PodAttachOptions",
    "exec": "PodExecOptions",
    "portforward": "PodPortForwardOptions",
    "proxy": "PodProxyOptions",
}
_DEEDS = {
    "binding": next(kind for kind in BUILT_IN if kind.kind == "Binding"),
    "eviction": Kind("policy", "v1", "Eviction", "evictions", accepts=("policy/v1beta1",)),
}
PODS = next(kind for kind in BUILT_IN if kind.kind == "Pod")
_METHODS = {
    "log": ("GET",),
    "binding": ("POST",),
    "eviction": ("POST",),
    "attach": ("GET", "POST"),
    "exec": ("GET", "POST"),
    "portforward": ("GET", "POST"),
    "proxy": ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"),
}
ACTIONS = tuple(_METHODS)
_STORAGE = (
    "StorageError: invalid object, Code: 4, Key: /registry/pods/{}/{}, ResourceVersion: 0, AdditionalErrorMsg: {}"
)
_SUCCESS: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


@dataclass(frozen=True, slots=True)
class PodRequest:
    """Request to a Pod on a node: `action` is log, exec, attach, portforward or proxy."""

    action: str
    pod: Manifest
    request: Request


Kubelet = Callable[[PodRequest], Awaitable[Response | StreamResponse]]
"""Answers, or raises Refused. Who may ask has been seen to."""


@dataclass(slots=True)
class PodActions:
    """Handlers of what is done to Pods: binding, eviction, and what a kubelet answers. All of them raise: Refused."""

    writer: Writer
    deleter: Deleter
    kubelet: Kubelet | None = None

    async def answer(self, call: Call) -> Response | StreamResponse:
        action = call.target.subresource
        if call.request.method not in _METHODS[action]:
            raise errors.method_not_allowed()
        if action in _DEEDS:
            return await self._do(call, action)
        if action in _OPTIONS:
            options: Manifest = {"kind": _OPTIONS[action], "apiVersion": "v1"}
            await self._admit("CONNECT", call, options, dry_run=False)
        return await self._look(call, action)

    async def bind(self, call: Call) -> Response:
        """A Binding that names its Pod itself, instead of being sent to it."""
        options = write_options(call.query, "CreateOptions")
        sent = read_body(call, options.field_validation)
        check_namespace(call.target, sent)
        target = Target(PODS, call.target.namespace, metadata_of(sent).get("name", ""), "binding")
        await self._bind(structs.replace(call, target=target), sent, options.dry_run)
        return _done()

    async def _do(self, call: Call, action: str) -> Response:
        options = write_options(call.query, "CreateOptions")
        kind = _DEEDS[action]
        sent = read_body(call, options.field_validation, kind)
        if metadata_of(sent).get("name") != call.target.name:
            raise errors.bad_request(f"name in URL does not match name in {kind.kind} object")
        check_namespace(call.target, sent)
        act = self._bind if action == "binding" else self._evict
        await act(call, sent, options.dry_run)
        return _done()

    async def _admit(self, operation: str, call: Call, said: Manifest, dry_run: bool) -> None:
        target = call.target
        await self.writer.admission.ask(
            AdmissionReview(
                operation, call.kind, target.namespace, said, None, call.user, dry_run, target.subresource, target.name
            )
        )

    async def _bind(self, call: Call, binding: Manifest, dry_run: bool) -> None:
        problems = list(_problems_of(section(binding, "target")))
        if problems:
            raise errors.plain_error(errors.joined(problems))
        await self._admit("CREATE", call, binding, dry_run)
        target, now = call.target, format_time(self.writer.clock.now())

        def bound(pod: Manifest) -> Manifest:
            _check_expected(pod, section(binding, "metadata"))
            why = _why_not_bound(pod)
            if why:
                raise errors.conflict("", "pods/binding", target.name, f"pod {target.name} {why}")
            return _bound(pod, binding, now)

        await self.writer.change(call.kind, target.namespace, target.name, bound, call.user, dry_run, "binding")

    async def _evict(self, call: Call, eviction: Manifest, dry_run: bool) -> None:
        asked, target = grown(eviction, "deleteOptions"), call.target
        if dry_run:
            asked.setdefault("dryRun", ["All"])
        options = delete_options(codec.encode(asked), {}, errors.JSON)
        await self._admit("CREATE", call, eviction, options.dry_run)
        pod = decode_stored(
            call.kind, read_one(self.writer.store, call.kind, target.namespace, target.name, None).value
        )
        await take_disruption(self.writer, pod, options.dry_run)
        await self.deleter.delete(call.kind, target.namespace, target.name, options, call.user)

    async def _look(self, call: Call, action: str) -> Response | StreamResponse:
        kind, target = call.kind, call.target
        pod = decode_stored(kind, read_one(self.writer.store, kind, target.namespace, target.name, None).value)
        node = section(pod, "spec").get("nodeName", "")
        if not node and action == "log":
            return Response(204, b"", {})
        if not node:
            raise _not_running(target.name)
        if self.kubelet is None:
            raise _no_kubelet(node, action)
        return await self.kubelet(PodRequest(action, pod, call.request))


def _done() -> Response:
    return Response(201, codec.encode(_SUCCESS), {"content-type": errors.JSON})


def _problems_of(target: ReadOnlyManifest) -> Iterator[Problem]:
    if target.get("kind", "") not in ("", "Node"):
        yield Problem.not_supported("target.kind", target["kind"], ["Node", "<empty>"])
    if not target.get("name"):
        yield Problem.required("target.name")


def _check_expected(pod: ReadOnlyManifest, said: ReadOnlyManifest) -> None:
    """A binding may be for the one Pod of this name, or for the one state of it, that its writer has seen."""
    found = pod["metadata"]
    for name, field in (("UID", "uid"), ("ResourceVersion", "resourceVersion")):
        if said.get(field) and not is_equal(said[field], found[field]):
            why = f"Precondition failed: {name} in precondition: {said[field]}, {name} in object meta: {found[field]}"
            raise errors.conflict("", "pods", found["name"], _STORAGE.format(found["namespace"], found["name"], why))


def _why_not_bound(pod: ReadOnlyManifest) -> str:
    spec = section(pod, "spec")
    if "deletionTimestamp" in pod["metadata"]:
        return "is being deleted, cannot be assigned to a host"
    if spec.get("nodeName"):
        return f'is already assigned to node "{spec["nodeName"]}"'
    return "has non-empty .spec.schedulingGates" if spec.get("schedulingGates") else ""


def _bound(pod: Manifest, binding: ReadOnlyManifest, now: str) -> Manifest:
    """The Pod on its node, with the binding's annotations."""
    annotations = section(binding["metadata"], "annotations")
    if annotations:
        grown(pod["metadata"], "annotations").update(annotations)
    grown(pod, "spec")["nodeName"] = binding["target"]["name"]
    status = grown(pod, "status")
    others = [c for c in entries(status, "conditions") if c.get("type") != "PodScheduled"]
    scheduled = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": now}
    status["conditions"] = [*others, scheduled]
    return pod


def _not_running(name: str) -> Refused:
    return errors.bad_request(f"pod {name} does not have a host assigned")


def _no_kubelet(node: str, action: str) -> Refused:
    return errors.internal_error(f"{action}: there is no kubelet on node {node}")
