"""What is said about built-in kinds, and whether the tables that the server reads by have the same fields."""

from leeward.apiserver.discovery.documentation import documentation_of
from leeward.apiserver.discovery.openapi_types import INT_OR_STRING, MICRO_TIME, QUANTITY, TIME, V3, definitions
from leeward.apiserver.kinds.builtin import BUILT_IN

SCALARS = {INT_OR_STRING, MICRO_TIME, QUANTITY, TIME}


def test_a_type_is_described_with_its_fields():
    strategy = documentation_of("io.k8s.api.apps.v1.DeploymentStrategy")
    assert strategy.text == "DeploymentStrategy describes how to replace existing pods with new ones."
    assert strategy.fields["type"].startswith('Type of deployment. Can be "Recreate" or "RollingUpdate".')
    assert strategy.required == ()


def test_fields_have_the_names_that_they_have_in_json():
    assert set(documentation_of("io.k8s.api.networking.v1.NetworkPolicyIngressRule").fields) == {"from", "ports"}


def test_fields_that_must_be_given_are_known():
    assert documentation_of("io.k8s.api.core.v1.ContainerPort").required == ("containerPort",)


def test_what_is_not_documented_is_described_by_nothing():
    assert documentation_of("io.k8s.api.apps.v1.Nothing").text == ""
    assert documentation_of("com.example.v1.Widget").fields == {}


def test_every_type_has_the_fields_of_its_documents_and_no_others():
    found = definitions(BUILT_IN, V3)
    documented = {name: documentation_of(name) for name in found if name not in SCALARS}
    assert {name for name, documentation in documented.items() if not documentation.text} == set()
    ours = {name: set(found[name].get("properties", {})) for name in documented}
    assert ours == {name: set(documentation.fields) for name, documentation in documented.items()}
