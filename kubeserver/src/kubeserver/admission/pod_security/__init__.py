"""PodSecurity: how much a Pod may ask of its node, by the labels of its namespace.

    labels ──standards──► level and version ──evaluation──► violations ──judging──► refused, warned of, noted

Pure, all but `judging`, the plug-in itself: a manifest goes in, and what it violates comes out. `baseline` and
`restricted` are the standards, one function for each rule; `existing` says what a namespace holds already.

Kubernetes: plugin/pkg/admission/security/podsecurity and staging/src/k8s.io/pod-security-admission; the same rules,
words and order. Nobody is exempt, and without labels everything is allowed, as with kube-apiserver's own defaults.
"""

from kubeserver.admission.pod_security.judging import PodSecurity

__all__ = ["PodSecurity"]
