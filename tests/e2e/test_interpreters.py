"""Customizations on a real kube-apiserver: what is wrong with one is told to whoever writes it."""

import json

from kubeapi.meta import Manifest
from tests.e2e.fleet import Fleet

HEALTHY = "function InterpretHealth(o) return true end"


def customization(name: str, **scripts: str) -> Manifest:
    rules = {field: {"luaScript": text} for field, text in scripts.items()}
    spec = {"target": {"apiVersion": "stable.example.com/v1", "kind": "CronTab"}, "customizations": rules}
    head = {"apiVersion": "config.karmada.io/v1alpha1", "kind": "ResourceInterpreterCustomization"}
    return {**head, "metadata": {"name": name}, "spec": spec}


def test_broken_and_duplicate_scripts_are_refused(fleet: Fleet) -> None:
    def create(manifest: Manifest, *, fails: bool = False) -> str:
        return fleet.kubectl("create", "-f", "-", stdin=json.dumps(manifest), fails=fails)

    told = create(customization("broken", retention="function Retain("), fails=True)
    assert "spec.customizations.retention.luaScript: Invalid value" in told
    create(customization("cron-tabs", healthInterpretation=HEALTHY))
    told = create(customization("others", healthInterpretation=HEALTHY), fails=True)
    assert "cron-tabs answers this for stable.example.com/v1 CronTab already" in told
    create(customization("others", retention="function Retain(o) return o end"))
    for name in ("cron-tabs", "others"):
        fleet.kubectl("delete", "resourceinterpretercustomization", name)
