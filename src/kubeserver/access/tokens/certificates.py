"""CertificateSigningRequests of the signer `kubernetes.io/kube-apiserver-client`: how an agent gets its certificate.

Whoever asks is written into the request by the server. What an agent asks for its own name is approved at once: with a
bootstrap token that is for it, or as that agent, which renews. What a token is for is written on its Secret first. What
it is not for is denied, and anything else waits for somebody who approves it. Approved requests are signed with the
client CA, for a year at most.

Kubernetes: pkg/controller/certificates; Karmada: pkg/controllers/certificate/approver; the same conditions.
"""

import base64
import logging
from collections.abc import Callable
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from kubeapi import codec
from kubeapi.certificate_requests import subject_of_request
from kubeapi.meta import Manifest, ReadOnlyManifest, annotations_of, format_time
from kubeserver.admission import AdmissionReview, Rejected
from kubeserver.handler import ADMIN_GROUP, User
from kubeserver.housekeeping.changes import changes
from kubeserver.kinds.kind import Kind
from kubeserver.kinds.signing_rules import SHORTEST_SECONDS
from kubeserver.refusals import Refused
from kubeserver.registry.writing import Writer
from kubeserver.store import Record
from kubeserver.values import entries, section
from leeward.client.certificate_requests import undecided_request
from leeward.core.registration import (
    SIGNER,
    TOKEN_NAMESPACE,
    TOKEN_PREFIX,
    CertificateRequest,
    Ruling,
    Verdict,
    annotations_of_use,
    rule_on_request,
    use_of,
)

log = logging.getLogger(__name__)

GROUP, PLURAL = "certificates.k8s.io", "certificatesigningrequests"
PREFIX = f"/{GROUP}/{PLURAL}/"
_CLUSTERS = "/cluster.karmada.io/clusters/"
LONGEST, CLOCK_SKEW = timedelta(days=365), timedelta(minutes=5)
_CONTROLLER = User("system:certificate-controller", (ADMIN_GROUP,))
_WHO = ("username", "uid", "groups", "extra")


class SigningRequestAdmission:
    """An `Admission`: a request says truly who made it, and never changes."""

    def admit(self, review: AdmissionReview) -> Manifest:
        if review.resource.group != GROUP or review.resource.plural != PLURAL or review.operation == "DELETE":
            return review.object
        if review.old_object is not None:
            return {**review.object, "spec": section(review.old_object, "spec")}
        spec = section(review.object, "spec")
        subject = subject_of_request(spec.get("request", ""))
        if spec.get("signerName") == SIGNER and subject is not None and ADMIN_GROUP in subject.groups:
            raise Rejected(f"use of {SIGNER} signer with {ADMIN_GROUP} group is not allowed")
        kept = {key: value for key, value in spec.items() if key not in _WHO}
        return {**review.object, "spec": {**kept, **review.user.info()}}


class CertificateSigner:
    """Approves what agents ask for, and signs what is approved, with the CA of `certificate` and `key` (PEM)."""

    def __init__(self, writer: Writer, kind: Kind, secrets: Kind, certificate: bytes, key: bytes) -> None:
        """`kind` is that of the requests. Raises: ValueError when they cannot be read."""
        loaded = serialization.load_pem_private_key(key, password=None)
        if not isinstance(loaded, ec.EllipticCurvePrivateKey):
            raise ValueError("the key of the client CA is no elliptic-curve key")
        self._writer = writer
        self._kind = kind
        self._secrets = secrets
        self._certificate = x509.load_pem_x509_certificate(certificate)
        self._key = loaded

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
        elif (request := undecided_request(manifest)) is not None and request.cluster:
            await self._rule_on(manifest, request)

    async def _rule_on(self, manifest: ReadOnlyManifest, request: CertificateRequest) -> None:
        store = self._writer.store
        secret = store.head(self._secrets.key(TOKEN_NAMESPACE, TOKEN_PREFIX + request.token_id))
        joined = () if store.head(f"{_CLUSTERS}/{request.cluster}") is None else (request.cluster,)
        ruling = rule_on_request(request, joined, None if secret is None else use_of(_annotations(secret)))
        if ruling.verdict is Verdict.WAITS:
            return
        if ruling.verdict is Verdict.APPROVED and secret is not None:
            await self._claim(request)
        condition = _condition(ruling, self._writer.clock.now())
        await self._write(manifest, lambda status: {**status, "conditions": [condition]})

    async def _claim(self, request: CertificateRequest) -> None:
        """Writes down what the token is used for. One request is looked at after the other. Raises: Refused."""

        def claimed(current: Manifest) -> Manifest:
            annotations = {**annotations_of(current), **annotations_of_use(request)}
            return {**current, "metadata": {**current["metadata"], "annotations": annotations}}

        name = TOKEN_PREFIX + request.token_id
        await self._writer.change(self._secrets, TOKEN_NAMESPACE, name, claimed, _CONTROLLER, dry_run=False)

    async def _write(self, manifest: ReadOnlyManifest, change: Callable[[Manifest], Manifest]) -> None:
        def changed(current: Manifest) -> Manifest:
            return {**current, "status": change(section(current, "status"))}

        name = manifest["metadata"]["name"]
        await self._writer.change(self._kind, "", name, changed, _CONTROLLER, dry_run=False, subresource="status")

    def _sign(self, spec: ReadOnlyManifest, now: datetime) -> bytes:
        request = x509.load_pem_x509_csr(base64.b64decode(spec["request"]))
        asked = timedelta(seconds=max(spec.get("expirationSeconds") or LONGEST.total_seconds(), SHORTEST_SECONDS))
        ends = min(now + min(asked, LONGEST), self._certificate.not_valid_after_utc)
        builder = (
            x509.CertificateBuilder(
                self._certificate.subject,
                request.subject,
                request.public_key(),
                x509.random_serial_number(),
                now - CLOCK_SKEW,
                ends,
            )
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
        )
        return builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def _annotations(secret: Record) -> dict[str, str]:
    return annotations_of(codec.decode_manifest(secret.value))


def _condition(ruling: Ruling, now: datetime) -> dict[str, str]:
    return {
        "type": ruling.verdict.value,
        "status": "True",
        "reason": ruling.reason,
        "message": ruling.message,
        "lastUpdateTime": format_time(now),
        "lastTransitionTime": format_time(now),
    }
