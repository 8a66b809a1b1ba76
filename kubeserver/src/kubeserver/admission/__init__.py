"""Admission: how others default and reject objects before they are stored, and what the server itself does so.

`interface` is the form of all who have a say; what is here beside it neither writes nor waits.
"""

from kubeserver.admission.interface import (
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
