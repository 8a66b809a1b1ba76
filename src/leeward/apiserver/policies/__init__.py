"""ValidatingAdmissionPolicies: rules in CEL that judge a write inside this process, before webhooks are asked.

    a write ▸ each binding, and its policy ▸ do both want to see it? ▸ with which parameters? ▸ the expressions ▸
               configuration                  webhooks.matching         params                  evaluation
    ▸ deny, warn, or write into the audit log
       judging

Policies and bindings are objects (`admissionregistration.k8s.io/v1`) and never behind the store. Each evaluation has a
budget of its own, so no policy holds up the server.

Never asks about policies and bindings themselves: a broken one must be removable.

Kubernetes: admission/plugin/policy/validating; the same rules and the same words. Differs: expressions are not checked
against the schemas of what they match, and MutatingAdmissionPolicy, which is not stable there, is not served.

Start reading at `judging.py`.
"""
