"""Holds a Pod against a standard: the checks of `baseline` and `restricted`, each as of the version of the standard."""

from collections.abc import Iterable, Iterator

from kubeserver.admission.pod_security.baseline import BASELINE
from kubeserver.admission.pod_security.checks import Rule, Violation
from kubeserver.admission.pod_security.pods import Pod
from kubeserver.admission.pod_security.restricted import RESTRICTED
from kubeserver.admission.pod_security.standards import Level, Standard


def violations(standard: Standard, pod: Pod) -> list[Violation]:
    """Violations in the order in which they are told."""
    found = (rule(pod) for rule in _rules(standard))
    return [violation for violation in found if violation is not None]


def details(found: Iterable[Violation]) -> str:
    """Details for who can mend the Pod."""
    return ", ".join(map(str, found))


def reasons(found: Iterable[Violation]) -> str:
    """Reasons for who looks at many Pods."""
    return ", ".join(violation.reason for violation in found)


def _rules(standard: Standard) -> Iterator[Rule]:
    if standard.level == Level.PRIVILEGED:
        return
    stricter = RESTRICTED if standard.level == Level.RESTRICTED else ()
    replaced = {check.replaces for check in stricter if check.at(standard.minor) is not None}
    for check in (*(check for check in BASELINE if check.name not in replaced), *stricter):
        if (rule := check.at(standard.minor)) is not None:
            yield rule
