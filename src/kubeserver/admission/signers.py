"""Who may approve or sign a certificate request: the verbs `approve` and `sign` on the signer that it names.

A rule names a signer, or all of a domain as `example.com/*`; whoever may update the subresource still needs this.

Kubernetes: plugin/pkg/admission/certificates; the same, and the same words. Differs: whoever approves by way of the
status is asked for the verb `approve`, too; there the approval is dropped in silence.
"""

from collections.abc import Iterator
from typing import Any

from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeserver.admission import AdmissionReview, Rejected
from kubeserver.auth.authorization.attributes import Attributes
from kubeserver.auth.authorization.rbac import Rbac
from kubeserver.values import entries, section

GROUP = "certificates.k8s.io"


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
    if review.subresource == "approval" or _verdicts(review.object) != _verdicts(old):
        yield "approve"
    if _certificate(review.object) != _certificate(old):
        yield "sign"


def _verdicts(request: ReadOnlyManifest) -> list[Any]:
    conditions = entries(section(request, "status"), "conditions")
    return [condition for condition in conditions if condition.get("type") in ("Approved", "Denied")]


def _certificate(request: ReadOnlyManifest) -> object:
    return section(request, "status").get("certificate")
