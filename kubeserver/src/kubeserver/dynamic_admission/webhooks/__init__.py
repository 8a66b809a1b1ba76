"""Admission webhooks: others are asked before an object is written, over HTTPS.

    a write ▸ which webhooks want to see it? ▸ ask them, each within its time ▸ a changed object, a refusal, or neither
               configuration, matching          wire, calling                    dispatch

The configurations are objects (`admissionregistration.k8s.io/v1`) and never behind the store. Objects go out over a
small port (`calling.py`): HTTPS in a process of its own (`https.py`), anything else in tests and simulation.

Never asks about webhook configurations themselves: a broken one must be removable.

Kubernetes: admission/plugin/webhook; the same rules. Differs: only AdmissionReview v1 is spoken, a Service is reached
through its endpoints or its external name, and `authorizer` is not there in match conditions.

Start reading at `dispatch.py`.
"""
