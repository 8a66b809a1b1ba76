"""Documentation of built-in kinds, and a check that the tables that the server reads by have the same fields."""

from kubeserver.builtin_kinds import BUILT_IN
from kubeserver.discovery.documentation import documentation_of
from kubeserver.discovery.openapi_types import (
    INT_OR_STRING,
    MICRO_TIME,
    QUANTITY,
    TIME,
    V3,
    definition_name,
    definitions,
)
from kubeserver.structures.builtin import package_of, published_name
from kubeserver.structures.structure import Structure

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


def test_no_field_that_must_be_given_goes_when_it_is_empty():
    left: dict[str, frozenset[str]] = {}

    def walk(name: str, structure: Structure) -> None:
        if structure.fields and name not in left:
            left[name] = structure.silent & set(documentation_of(name).required)
            for child in structure.fields.values():
                while child.form in ("list", "map"):
                    child = child.item
                home = package_of(child.type) or name.rpartition(".")[0]
                walk(f"{home}.{published_name(child.type)}", child)

    for kind in BUILT_IN:
        walk(definition_name(kind), kind.structure)
    assert {name: sorted(fields) for name, fields in left.items() if fields} == {}
