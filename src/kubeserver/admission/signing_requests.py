"""Who made a CertificateSigningRequest: the server writes it into the request, which never changes after."""

from kubeapi.certificate_requests import subject_of_request
from kubeapi.meta import Manifest
from kubeserver.admission.interface import AdmissionReview, Rejected
from kubeserver.handler import ADMIN_GROUP
from kubeserver.values import section

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
