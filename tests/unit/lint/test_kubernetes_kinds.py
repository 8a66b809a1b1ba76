"""Kinds of Kubernetes' own, as a selector names them."""

import pytest

from kubeserver.builtin_kinds import BUILT_IN
from leeward.lint.selected_kinds import KUBERNETES_KINDS, kind_fault


def test_the_kinds_are_those_of_the_api_server() -> None:
    served = {version: set[str]() for version in KUBERNETES_KINDS}
    for each in BUILT_IN:
        version = f"{each.group}/{each.version}".lstrip("/")
        if version in served:
            served[version].add(each.kind)
    assert served == KUBERNETES_KINDS


@pytest.mark.parametrize(
    ("api_version", "kind", "said"),
    [
        ("v1", "Servce", "v1 has no kind Servce: is Service meant?"),
        ("apps/v1", "Service", "apps/v1 has no kind Service: it is one of v1"),
        ("apps/v1", "HorizontalPodAutoscaler", "it is one of autoscaling/v1 and autoscaling/v2"),
        ("apps/v1", "Servce", "apps/v1 has no kind Servce: is Service meant?"),
        ("batch/v1", "Xyz", "batch/v1 has no kind Xyz"),
        ("apps/v1", "Deployment", ""),
        ("apps/v1beta1", "Deployment", ""),
        ("example.com/v1", "Servce", ""),
    ],
)
def test_what_an_api_version_does_not_have_is_told_with_what_was_meant(api_version: str, kind: str, said: str) -> None:
    fault = kind_fault(api_version, kind)
    assert said in fault if said else not fault
