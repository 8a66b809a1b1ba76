"""The agent certificate controller: approves what agents ask for their own names, so that somebody may sign it.

What anybody else asks for waits for a person. The embedded API server approves by itself, and leaves nothing to do.

Karmada: pkg/controllers/certificate/approver (`agentcsrapproving`); the same conditions.
"""

from leeward.api.meta import Manifest, ReadOnlyManifest
from leeward.api.resource import Resource
from leeward.client.certificate_requests import subject_of_request
from leeward.core.registration import SIGNER, is_asked_by_agent
from leeward.runtime.plane import ControlPlane

REQUESTS: Resource[Manifest] = Resource.of_manifests(
    "certificates.k8s.io/v1", "certificatesigningrequests", "CertificateSigningRequest", False
)
_APPROVAL = {
    "type": "Approved",
    "status": "True",
    "reason": "AutoApproved",
    "message": "an agent asks for its own certificate",
}


class AgentCertificateController:
    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._requests = plane.informers.of(REQUESTS)
        self._controller = plane.controller("agent-certificate-controller", self.reconcile, workers=2)

    def start(self) -> None:
        self._requests.on_change(self._request_changed)
        self._controller.start(self._plane.supervisor)

    async def reconcile(self, name: str) -> None:
        await self._requests.wait_synced()
        request = self._requests.get(name)
        if request is None or not _is_to_be_approved(request):
            return
        await self._plane.client.patch(
            REQUESTS,
            name,
            {"status": {"conditions": [_APPROVAL]}},
            subresource="approval",
            resource_version=request["metadata"]["resourceVersion"],
        )

    def _request_changed(self, _: Manifest | None, new: Manifest | None) -> None:
        if new is not None and _is_to_be_approved(new):
            self._controller.queue.add(new["metadata"]["name"])


def _is_to_be_approved(request: ReadOnlyManifest) -> bool:
    spec: ReadOnlyManifest = request["spec"]
    status: ReadOnlyManifest = request.get("status") or {}
    if spec.get("signerName") != SIGNER or status.get("conditions") or status.get("certificate"):
        return False
    subject = subject_of_request(spec.get("request", ""))
    return subject is not None and is_asked_by_agent(
        subject.user, subject.groups, spec.get("usages") or [], spec.get("username", ""), spec.get("groups") or []
    )
