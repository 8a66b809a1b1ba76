"""The plug-in: refuses Pods, warns of them and notes them, as the labels of their namespace want it.

What only holds a template of Pods is never refused: its Pods will be.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from kubeapi import codec
from kubeapi.diff import is_equal, is_one_of
from kubeapi.meta import ReadOnlyManifest
from kubeapi.status import Problem
from kubeserver import errors
from kubeserver.admission.interface import AdmissionReview
from kubeserver.admission.pod_security.confinement import SECCOMP_OF_CONTAINER
from kubeserver.admission.pod_security.evaluation import details, violations
from kubeserver.admission.pod_security.existing import MAX_PODS, is_to_look, warnings
from kubeserver.admission.pod_security.pods import Pod
from kubeserver.admission.pod_security.standards import PREFIX, Policy, Standard, read_policy
from kubeserver.store import Store
from kubeserver.values import entries, section
from kubeserver.warnings import annotate, warn

_NAMESPACES, _PODS = "//namespaces/", "//pods/"
_TEMPLATE_PATHS: Mapping[str, tuple[str, ...]] = {
    "//podtemplates/": ("template",),
    "//replicationcontrollers/": ("spec", "template"),
    "/apps/daemonsets/": ("spec", "template"),
    "/apps/deployments/": ("spec", "template"),
    "/apps/replicasets/": ("spec", "template"),
    "/apps/statefulsets/": ("spec", "template"),
    "/batch/cronjobs/": ("spec", "jobTemplate", "spec", "template"),
    "/batch/jobs/": ("spec", "template"),
}
"""Paths at which what makes Pods says what they are like."""
_OF_PODS = ("", "ephemeralcontainers", "resize")
"""The subresources through which what a Pod is like is written."""


class PodSecurity:
    """Judge of Pods by the Pod Security Standards that their namespace's labels name."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def validate(self, review: AdmissionReview) -> None:
        """Raises: Refused."""
        if review.operation not in ("CREATE", "UPDATE"):
            return
        prefix = review.kind.prefix
        if prefix == _PODS and review.subresource in _OF_PODS:
            self._judge_pod(review)
        elif prefix in _TEMPLATE_PATHS and not review.subresource:
            self._judge_template(review, _TEMPLATE_PATHS[prefix])
        elif prefix == _NAMESPACES and not review.subresource:
            self._judge_labels(review)

    def _judge_pod(self, review: AdmissionReview) -> None:
        policy, problems = self._policy_of(review.namespace)
        old = review.old_object
        if policy.is_privileged and not problems:
            _note("enforce-policy", policy.enforce)
        elif old is None or _changes_what_is_judged(review.object, old):
            _note("enforce-policy", policy.enforce)
            _judge(Pod.of(review.object), policy, problems, review)

    def _judge_template(self, review: AdmissionReview, path: tuple[str, ...]) -> None:
        policy, problems = self._policy_of(review.namespace)
        if policy.is_silent and not problems:
            return
        template: ReadOnlyManifest = review.object
        for field in path:
            template = section(template, field)
        if template:
            _judge(Pod.of(template), policy, problems, None)

    def _judge_labels(self, review: AdmissionReview) -> None:
        """Labels that are wrong may stay as they are, so that a namespace can be changed and can end."""
        name, old = section(review.object, "metadata").get("name", ""), review.old_object
        policy, problems = read_policy(_labels(review.object))
        before, known = read_policy(_labels(old)) if old is not None else (policy, [])
        if problems and problems != known:
            raise errors.invalid("", "Namespace", name, problems)
        if is_to_look(before.enforce, policy.enforce):
            there = self._store.list(f"{_PODS}{name}/", limit=MAX_PODS)
            pods = [codec.decode_manifest(record.value) for record in there.records]
            for text in warnings(name, policy.enforce, pods, len(pods) + there.remaining):
                warn(text)

    def _policy_of(self, namespace: str) -> tuple[Policy, list[Problem]]:
        """One look-up; few namespaces have the word in them at all."""
        record = self._store.head(f"{_NAMESPACES}/{namespace}")
        if record is None or PREFIX.encode() not in record.value:
            return Policy(), []
        return read_policy(_labels(codec.decode_manifest(record.value)))


def _judge(pod: Pod, policy: Policy, problems: Sequence[Problem], refusing: AdmissionReview | None) -> None:
    """Raises: Refused, where the Pod is one that may be refused. It is noted all the same, and not warned of."""

    @cache
    def said(standard: Standard) -> str:
        return details(violations(standard, pod))

    if problems:
        _note("error", f"Failed to parse policy: {_together(problems)}")
    if found := said(policy.audit):
        _note("audit-violations", f'would violate PodSecurity "{policy.audit}": {found}')
    if refusing is not None and (found := said(policy.enforce)):
        name = refusing.name or section(refusing.object, "metadata").get("name", "")
        raise errors.forbidden("", "pods", name, f'violates PodSecurity "{policy.enforce}": {found}')
    if found := said(policy.warn):
        warn(f'would violate PodSecurity "{policy.warn}": {found}')


def _together(problems: Sequence[Problem]) -> str:
    texts = [str(problem) for problem in problems]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def _note(key: str, value: object) -> None:
    annotate(PREFIX + key, str(value))


def _labels(namespace: ReadOnlyManifest) -> Mapping[str, str]:
    return section(section(namespace, "metadata"), "labels")


def _changes_what_is_judged(new: ReadOnlyManifest, old: ReadOnlyManifest) -> bool:
    """Most of a Pod cannot be changed; who labels one that a newer standard would not let in is not to blame for it."""
    after, before = Pod.of(new), Pod.of(old)
    return any(
        not is_equal(_changeable_fields(after, field), _changeable_fields(before, field))
        for field in ("containers", "initContainers")
    ) or any(
        not is_one_of(look, _changeable_fields(before, "ephemeralContainers"))
        for look in _changeable_fields(after, "ephemeralContainers")
    )


def _changeable_fields(pod: Pod, field: str) -> list[Mapping[str, Any]]:
    """Fields of containers that an update may change, or add."""
    return [
        {
            "name": container.get("name"),
            "image": container.get("image"),
            "seccomp": pod.annotations.get(SECCOMP_OF_CONTAINER + container.get("name", "")),
        }
        for container in entries(pod.spec, field)
    ]
