"""Kinds that are understood otherwise when a customization or a webhook changes."""

from typing import Any

import pytest

from kubeapi.codec import from_wire
from leeward.api.interpreter_config import ResourceInterpreterCustomization, ResourceInterpreterWebhookConfiguration
from leeward.core.interpreter.changes import changed_by_customization, changed_by_webhooks, concerns
from leeward.core.interpreter.scripts import Operation

HEALTH, RETAIN = (Operation.HEALTH,), (Operation.RETAIN,)


def customization(kind: str = "Farm", **scripts: str) -> ResourceInterpreterCustomization:
    rules = {field: {"luaScript": text} for field, text in scripts.items()}
    target = {"apiVersion": "example.com/v1", "kind": kind}
    wire = {"metadata": {"name": "a"}, "spec": {"target": target, "customizations": rules}}
    return from_wire(wire, ResourceInterpreterCustomization)


def webhook(name: str, kind: str, **more: Any) -> dict[str, Any]:
    rule = {"operations": ["*"], "apiGroups": ["example.com"], "apiVersions": ["*"], "kinds": [kind]}
    client = {"url": f"https://{name}.example.com"}
    hook = {"name": name, "clientConfig": client, "rules": [rule], "interpreterContextVersions": ["v1alpha1"]}
    return {**hook, **more}


def configuration(*webhooks: dict[str, Any]) -> ResourceInterpreterWebhookConfiguration:
    wire = {"metadata": {"name": "a"}, "webhooks": list(webhooks)}
    return from_wire(wire, ResourceInterpreterWebhookConfiguration)


@pytest.mark.parametrize(
    ("old", "new", "kinds"),
    [
        (None, customization(healthInterpretation="a"), {"Farm"}),
        (customization(healthInterpretation="a"), None, {"Farm"}),
        (customization(healthInterpretation="a"), customization(healthInterpretation="b"), {"Farm"}),
        (customization(retention="a"), customization(retention="a", healthInterpretation="b"), {"Farm"}),
        (customization(healthInterpretation="a"), customization("Barn", healthInterpretation="a"), {"Farm", "Barn"}),
        (customization(healthInterpretation="a"), customization(healthInterpretation="a"), set[str]()),
        (customization(retention="a"), customization(retention="b"), set[str]()),
    ],
)
def test_a_customization_concerns_its_kind_and_what_it_answers_otherwise(
    old: ResourceInterpreterCustomization | None, new: ResourceInterpreterCustomization | None, kinds: set[str]
) -> None:
    rules = changed_by_customization(old, new)
    assert {kind for kind in ("Farm", "Barn", "Mill") if concerns(rules, "example.com/v1", kind, HEALTH)} == kinds
    assert not concerns(rules, "example.com/v2", "Farm", HEALTH)


def test_a_script_that_changes_concerns_no_other_question() -> None:
    rules = changed_by_customization(customization(healthInterpretation="a"), customization(healthInterpretation="b"))
    assert not concerns(rules, "example.com/v1", "Farm", RETAIN)


FARMS, BARNS, MILLS = webhook("farms", "Farm"), webhook("barns", "Barn"), webhook("mills", "Mill")


@pytest.mark.parametrize(
    ("old", "new", "kinds"),
    [
        (None, (FARMS,), {"Farm"}),
        ((FARMS, BARNS), (FARMS,), {"Barn"}),
        ((FARMS, BARNS), (FARMS, MILLS, BARNS), {"Mill"}),
        ((FARMS, BARNS), (FARMS, webhook("barns", "Mill")), {"Barn", "Mill"}),
        ((FARMS, BARNS), (webhook("farms", "Farm", timeoutSeconds=3), BARNS), {"Farm"}),
        ((FARMS, BARNS), (BARNS, FARMS), {"Farm", "Barn"}),
        ((FARMS, webhook("any", "*")), (FARMS,), {"Farm", "Barn", "Mill"}),
        ((FARMS, BARNS), (FARMS, BARNS), set[str]()),
    ],
)
def test_webhooks_concern_the_kinds_of_their_rules(
    old: tuple[dict[str, Any], ...] | None, new: tuple[dict[str, Any], ...], kinds: set[str]
) -> None:
    rules = changed_by_webhooks(configuration(*old) if old is not None else None, configuration(*new))
    assert {kind for kind in ("Farm", "Barn", "Mill") if concerns(rules, "example.com/v1", kind, HEALTH)} == kinds
