"""CertificateSigningRequests: who has made one, which never changes, and who may approve or sign it.

The server writes into it who has made it. To approve and to sign are the verbs `approve` and `sign` on the signer that
it names; a rule names a signer, or all of a domain as `example.com/*`. Whoever may update the subresource still needs
this.

Kubernetes: plugin/pkg/admission/certificates; the same, and the same words. Differs: whoever approves by way of the
status is asked for the verb `approve`, too; there the approval is dropped in silence.
"""

from collections.abc import Iterator
from typing import Any

from kubeapi.certificate_requests import subject_of_request
from kubeapi.diff import is_equal
from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeserver.admission.interface import AdmissionReview, Rejected
from kubeserver.auth.authorization.attributes import Attributes
from kubeserver.auth.authorization.rbac import Rbac
from kubeserver.handler import ADMIN_GROUP
from kubeserver.values import entries, section

GROUP, PLURAL = "certificates.k8s.io", "certificatesigningrequests"
SIGNER = "kubernetes.io/kube-apiserver-client"
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


class SignerCheck:
    """An `Admission` for the subresources of CertificateSigningRequests."""

    def __init__(self, rbac: Rbac) -> None:
        self._rbac = rbac

    def admit(self, review: AdmissionReview) -> Manifest:
        if review.resource.group == GROUP and review.old_object is not None:
            signer = str(section(review.old_object, "spec").get("signerName", ""))
            for verb in _verbs(review, review.old_object):
                if not self._may(review, verb, signer):
                    raise Rejected(f'user not permitted to {verb} requests with signerName "{signer}"')
        return review.object

    def _may(self, review: AdmissionReview, verb: str, signer: str) -> bool:
        domain = signer.partition("/")[0]
        asked = (Attributes(verb, GROUP, "signers", name=name) for name in (signer, f"{domain}/*"))
        return any(self._rbac.decide(review.user, attributes).allowed for attributes in asked)


def _verbs(review: AdmissionReview, old: ReadOnlyManifest) -> Iterator[str]:
    """A status may say other things than a verdict or a certificate."""
    if review.subresource == "approval" or not is_equal(_verdicts(review.object), _verdicts(old)):
        yield "approve"
    if _certificate(review.object) != _certificate(old):
        yield "sign"


def _verdicts(request: ReadOnlyManifest) -> list[Any]:
    conditions = entries(section(request, "status"), "conditions")
    return [condition for condition in conditions if condition.get("type") in ("Approved", "Denied")]


def _certificate(request: ReadOnlyManifest) -> object:
    return section(request, "status").get("certificate")
