"""CertificateSigningRequests, as those read them who decide about agents."""

from kubeapi.certificate_requests import subject_of_request
from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.resource import Resource
from leeward.core.registration import SIGNER, CertificateRequest

REQUESTS: Resource[Manifest] = Resource.of_manifests(
    "certificates.k8s.io/v1", "certificatesigningrequests", "CertificateSigningRequest", False
)


def undecided_request(manifest: ReadOnlyManifest) -> CertificateRequest | None:
    """Request that a CertificateSigningRequest makes; None when it was decided, is for another signer, or is no
    request."""
    spec: ReadOnlyManifest = manifest.get("spec") or {}
    status: ReadOnlyManifest = manifest.get("status") or {}
    if spec.get("signerName") != SIGNER or status.get("conditions") or status.get("certificate"):
        return None
    subject = subject_of_request(spec.get("request", ""))
    if subject is None:
        return None
    usages, groups = (tuple(map(str, spec.get(field) or ())) for field in ("usages", "groups"))
    uid = manifest["metadata"].get("uid", "")
    return CertificateRequest(subject.user, subject.groups, usages, spec.get("username", ""), groups, uid)
