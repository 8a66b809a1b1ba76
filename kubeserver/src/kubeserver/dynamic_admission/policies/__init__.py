"""Admission policies: rules in CEL that change or judge a write inside this process.

    a write ▸ each binding, and its policy ▸ do both want to see it? ▸ with which parameters? ▸ the expressions ▸
               configuration                  sight                     params                   evaluation
    ▸ another object                   before webhooks are asked
       mutations, mutating
    ▸ deny, warn, or write into the audit log
       judging

Policies and bindings are objects (`admissionregistration.k8s.io/v1`) and never behind the store. Each evaluation has a
budget of its own, so no policy holds up the server.

Never asks about policies and bindings themselves: a broken one must be removable.

Kubernetes: admission/plugin/policy; the same rules and the same words. Differs: expressions are not checked against the
schemas of what they match.

Start reading at `judging.py`.
"""
