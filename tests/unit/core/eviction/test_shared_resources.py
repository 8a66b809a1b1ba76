"""Resources that others live in, and those that are evicted like anything else."""

import msgspec
import pytest

from leeward.api.work import BindingResource
from leeward.core.eviction.shared_resources import stays_under_taints
from tests.builders import binding, duplicated


@pytest.mark.parametrize(
    ("api_version", "kind", "stays"),
    [
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition", True),
        ("v1", "Namespace", True),
        ("v1", "PersistentVolume", True),
        ("v1", "PersistentVolumeClaim", True),
        ("v1", "ConfigMap", False),
        ("apps/v1", "Deployment", False),
        ("example.io/v1", "Namespace", False),
        ("v1", "CustomResourceDefinition", False),
    ],
)
def test_s12_no_taint_evicts_what_others_live_in_unless_the_policy_says_so(
    api_version: str, kind: str, *, stays: bool
) -> None:
    bound = binding(duplicated("a"), 0)
    resource = BindingResource(api_version, kind, "it")
    bound = msgspec.structs.replace(bound, spec=msgspec.structs.replace(bound.spec, resource=resource))
    assert stays_under_taints(bound) is stays
    for value, expected in (("true", False), ("false", stays), ("", stays)):
        annotations = {"leeward.dev/evict-shared-resources": value}
        metadata = msgspec.structs.replace(bound.metadata, annotations=annotations)
        assert stays_under_taints(msgspec.structs.replace(bound, metadata=metadata)) is expected
