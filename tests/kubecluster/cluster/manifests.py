"""Pods as the tables of these tests write them."""

from typing import Any

from kubeapi.meta import Manifest


def pod(name: str = "web-a", *, ready: bool = False, node: str = "", leaving: bool = False, **more: Any) -> Manifest:
    """A Pod that is Pending, or Running and Ready since 10:00; `phase`, `labels` and `spec` by keyword."""
    phase = more.get("phase") or ("Running" if ready else "Pending")
    metadata: Manifest = {"name": name, "namespace": "default", "uid": f"uid-{name}", "labels": more.get("labels", {})}
    metadata["creationTimestamp"] = more.get("created", "2026-01-01T09:00:00Z")
    if leaving:
        metadata["deletionTimestamp"] = "2026-01-01T10:00:00Z"
    condition = {
        "type": "Ready",
        "status": str(ready),
        "lastTransitionTime": "2026-01-01T10:00:00Z",
    }
    spec = {**more.get("spec", {}), **({"nodeName": node} if node else {})}
    return {"metadata": metadata, "spec": spec, "status": {"phase": phase, "conditions": [condition]}}


def owner(kind: str, **spec: Any) -> Manifest:
    """A workload named `web` with a template; `status` by keyword is its status."""
    status = spec.pop("status", {})
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "main", "image": "nginx:1"}]}}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "web", "namespace": "default", "uid": "uid-web", "generation": 1},
        "spec": {"template": template, **spec},
        "status": status,
    }
