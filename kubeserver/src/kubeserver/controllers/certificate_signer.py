"""CertificateSigningRequests of the signer `kubernetes.io/kube-apiserver-client`: how a client gets its certificate.

A request waits for somebody who approves it, unless the rule that the server was given (`ApprovalRule`) decides about
it at once. Approved requests are signed with the client CA, for a year at most.

Kubernetes: pkg/controller/certificates; the same conditions.
"""

import base64
import logging
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from cryptography import x509

from kubeapi import codec
from kubeapi.certificates import Issuer, Usage, certificate_pem
from kubeapi.meta import Manifest, ReadOnlyManifest, annotations_of, format_time
from kubeserver.admission.signers import GROUP, PLURAL, SIGNER
from kubeserver.controllers.changes import changes
from kubeserver.errors import Refused
from kubeserver.handler import ADMIN_GROUP, User
from kubeserver.kinds.kind import Kind
from kubeserver.kinds.signing_rules import SHORTEST_SECONDS
from kubeserver.registry.writing import Writer
from kubeserver.store import Record
from kubeserver.values import entries, section

log = logging.getLogger(__name__)

PREFIX = f"/{GROUP}/{PLURAL}/"
LONGEST = timedelta(days=365)
_CONTROLLER = User("system:certificate-controller", (ADMIN_GROUP,))


class Note(NamedTuple):
    """Annotations of a Secret: what it has been used for, written before the approval that uses it."""

    namespace: str
    name: str
    annotations: Mapping[str, str]


class Approval(NamedTuple):
    """Decision on a request; `reason` and `message` stand in its condition."""

    approved: bool
    reason: str = ""
    message: str = ""
    note: Note | None = None


Find = Callable[[str, str, str, str], ReadOnlyManifest | None]
"""The stored object of this group, plural, namespace and name."""

ApprovalRule = Callable[[ReadOnlyManifest, Find], Approval | None]
"""Decides about a CertificateSigningRequest that nobody has decided about; None leaves it to a person."""


def approve_nothing(request: ReadOnlyManifest, find: Find) -> Approval | None:
    """The `ApprovalRule` of a server that was given none."""
    return None


class CertificateSigner:
    """Decides by `rule`, and signs what is approved, with the CA of `certificate` and `key` (PEM)."""

    def __init__(
        self, writer: Writer, kind: Kind, secrets: Kind, certificate: bytes, key: bytes, rule: ApprovalRule
    ) -> None:
        """`kind` is that of the requests. Raises: ValueError when they cannot be read."""
        self._writer = writer
        self._kind = kind
        self._secrets = secrets
        self._issuer = Issuer.of_pem(certificate, key)
        self._rule = rule

    async def run(self) -> None:
        """Goes on until it is cancelled."""
        async for record in changes(self._writer.store, PREFIX):
            if not record.deleted:
                try:
                    await self._look_at(record)
                except Refused as refusal:
                    log.warning("certificate signer: %s: %s", record.key, refusal)

    async def _look_at(self, record: Record) -> None:
        manifest = codec.decode_manifest(record.value)
        spec, status = section(manifest, "spec"), section(manifest, "status")
        verdicts = {condition.get("type") for condition in entries(status, "conditions")}
        if spec.get("signerName") != SIGNER or status.get("certificate") or verdicts & {"Denied", "Failed"}:
            return
        if "Approved" in verdicts:
            signed = base64.b64encode(self._sign(spec, self._writer.clock.now())).decode()
            await self._write(manifest, lambda status: {**status, "certificate": signed})
        elif not verdicts and (approval := self._rule(manifest, self._find)) is not None:
            await self._carry_out(manifest, approval)

    def _find(self, group: str, plural: str, namespace: str, name: str) -> ReadOnlyManifest | None:
        record = self._writer.store.get(f"/{group}/{plural}/{namespace}/{name}")
        return None if record is None else codec.decode_manifest(record.value)

    async def _carry_out(self, manifest: ReadOnlyManifest, approval: Approval) -> None:
        """One request is looked at after the other, so that no note is written for two. Raises: Refused."""
        if approval.note is not None:
            await self._note(approval.note)
        condition = _condition(approval, self._writer.clock.now())
        await self._write(manifest, lambda status: {**status, "conditions": [condition]})

    async def _note(self, note: Note) -> None:
        def noted(current: Manifest) -> Manifest:
            annotations = {**annotations_of(current), **note.annotations}
            return {**current, "metadata": {**current["metadata"], "annotations": annotations}}

        await self._writer.change(self._secrets, note.namespace, note.name, noted, _CONTROLLER, dry_run=False)

    async def _write(self, manifest: ReadOnlyManifest, change: Callable[[Manifest], Manifest]) -> None:
        def changed(current: Manifest) -> Manifest:
            return {**current, "status": change(section(current, "status"))}

        name = manifest["metadata"]["name"]
        await self._writer.change(self._kind, "", name, changed, _CONTROLLER, dry_run=False, subresource="status")

    def _sign(self, spec: ReadOnlyManifest, now: datetime) -> bytes:
        request = x509.load_pem_x509_csr(base64.b64decode(spec["request"]))
        asked = timedelta(seconds=max(spec.get("expirationSeconds") or LONGEST.total_seconds(), SHORTEST_SECONDS))
        return certificate_pem(
            self._issuer.issue(request.subject, request.public_key(), Usage.CLIENT, now, min(asked, LONGEST))
        )


def _condition(approval: Approval, now: datetime) -> dict[str, str]:
    return {
        "type": "Approved" if approval.approved else "Denied",
        "status": "True",
        "reason": approval.reason,
        "message": approval.message,
        "lastUpdateTime": format_time(now),
        "lastTransitionTime": format_time(now),
    }
