"""Objects that a return deletes, and the claims that stay: as bindings and Works tell it."""

import msgspec

from leeward.answers.fleet_state import key_of_binding
from leeward.answers.return_losses import losses_on_return
from leeward.api.names import BINDING_NAME_ANNOTATION, BINDING_NAMESPACE_ANNOTATION
from leeward.api.work import BindingResource, ResourceBinding, Work, WorkloadTemplate
from leeward.core.eviction.volumes import claims_annotation
from tests.builders import binding, cluster, divided, targets, work
from tests.fleet_pictures import picture_of


def stateful_set(*claims: str) -> ResourceBinding:
    template = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "spec": {"volumeClaimTemplates": [{"metadata": {"name": name}} for name in claims]},
    }
    made = binding(divided({"a": 1, "b": 1}), 2, targets(a=2))
    metadata = msgspec.structs.replace(made.metadata, name="db-statefulset", annotations=claims_annotation(template))
    resource = BindingResource("apps/v1", "StatefulSet", "db", "shop", uid="uid-db")
    return msgspec.structs.replace(made, metadata=metadata, spec=msgspec.structs.replace(made.spec, resource=resource))


def work_of(app: ResourceBinding) -> Work:
    made = work("a", 2)
    annotations = {BINDING_NAMESPACE_ANNOTATION: app.namespace, BINDING_NAME_ANNOTATION: app.name}
    metadata = msgspec.structs.replace(made.metadata, annotations=annotations)
    manifest = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db", "namespace": "shop"}}
    spec = msgspec.structs.replace(made.spec, workload=WorkloadTemplate(manifests=(manifest,)))
    return msgspec.structs.replace(made, metadata=metadata, spec=spec)


def claims_that_stay(*claims: str) -> tuple[str, ...]:
    app = stateful_set(*claims)
    state = picture_of([cluster("a"), cluster("b")], [app], works=[work_of(app)])
    found = losses_on_return(state, {key_of_binding(app): ["a"]})
    assert found.kinds == {"StatefulSet": 1}
    return found.claims


def test_claims_that_stay_are_told_one_by_one_and_with_whose_they_are() -> None:
    assert claims_that_stay("data", "logs") == ("data (shop/db)", "logs (shop/db)")
    assert claims_that_stay() == ()


def test_claims_beyond_those_that_a_binding_names_are_counted() -> None:
    names = [f"disk-{index}" for index in range(7)]
    assert claims_that_stay(*names) == (*(f"{name} (shop/db)" for name in names[:5]), "2 more (shop/db)")
