"""Admission: how others default and reject objects before they are stored, and what the server itself does so.

`port` is the form of all who have a say; what is here beside it neither writes nor waits.
"""

from kubeserver.admission.port import (
    Admission,
    AdmissionReview,
    Mutated,
    Mutations,
    NoMutations,
    NoWebhooks,
    Policies,
    Rejected,
    Webhooks,
)

__all__ = [
    "Admission",
    "AdmissionReview",
    "Mutated",
    "Mutations",
    "NoMutations",
    "NoWebhooks",
    "Policies",
    "Rejected",
    "Webhooks",
]
