"""--skipped-propagating-apis: which kinds its text names."""

import pytest

from leeward.core.propagation.skipping import SkippedApis, SkippingProblem, parse_skipped_apis


def test_karmadas_own_groups_are_always_skipped() -> None:
    assert SkippedApis().skips("policy.karmada.io/v1alpha1", "PropagationPolicy")
    assert not SkippedApis().skips("apps/v1", "Deployment")
    assert parse_skipped_apis("apps").skips("work.karmada.io/v1alpha2", "ResourceBinding")


@pytest.mark.parametrize(
    ("text", "api_version", "kind", "skipped"),
    [
        ("apps", "apps/v1", "Deployment", True),
        ("apps", "batch/v1", "Job", False),
        ("apps/v1beta1", "apps/v1", "Deployment", False),
        ("apps/v1beta1; apps/v1", "apps/v1", "Deployment", True),
        ("apps/v1/Deployment,StatefulSet", "apps/v1", "StatefulSet", True),
        ("apps/v1/Deployment", "apps/v1", "DaemonSet", False),
        ("apps/v1;apps/v1/Deployment", "apps/v1", "DaemonSet", True),
        ("v1/Secret;v1/ConfigMap", "v1", "ConfigMap", True),
        ("v1/Secret;v1/ConfigMap", "v1", "Secret", True),
        ("v1/Secret", "v1", "ConfigMap", False),
        ("apps/v1/Deployment;apps/v1/StatefulSet", "apps/v1", "Deployment", True),
        ("apps/v1/Deployment;apps/v1/StatefulSet", "apps/v1", "StatefulSet", True),
        ("apps/v1/Deployment;apps/v1/StatefulSet", "apps/v1", "DaemonSet", False),
        ("", "v1", "Secret", False),
    ],
)
def test_an_entry_names_a_group_a_version_or_kinds(text: str, api_version: str, kind: str, skipped: bool) -> None:
    assert parse_skipped_apis(text).skips(api_version, kind) is skipped


@pytest.mark.parametrize(
    "text",
    ["/v1", "apps/v1/", "/v1/Deployment", "apps//Deployment", "a/b/c/d", "apps/v1/Deployment,", "v1/ConfigMap,,Secret"],
)
def test_an_entry_that_cannot_be_read_is_named(text: str) -> None:
    with pytest.raises(SkippingProblem, match=text):
        parse_skipped_apis(text)
