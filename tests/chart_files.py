"""Writes the parts of the Helm chart that follow from the code: python -m tests.chart_files deploy/leeward

    crds/definitions.yaml     the CustomResourceDefinitions
    templates/rights.yaml     the namespace of the members' secrets, accounts, roles and bindings
    files/rules.yaml          the alerts of deploy/prometheus, for a PrometheusRule
    files/values.yaml         the default values, which templates can read where `--reuse-values` leaves them out

A test compares the repository with the output. The rest of the chart is written by hand.
"""

import sys
from collections.abc import Iterable
from pathlib import Path

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeapi.yaml_writing import render_yaml_stream
from leeward.api.names import SYSTEM_NAMESPACE
from leeward.app.install.manifests import DEFINITIONS, definitions, namespaces, rights

NAMESPACES: Resource[Manifest] = Resource.of_manifests("v1", "namespaces", "Namespace", False)
_HEAD = "# Written by `make chart`.\n"
_KEPT = {"annotations": {"helm.sh/resource-policy": "keep"}}
"""Metadata of the namespace of members' credentials and Leases, which stay when the release is uninstalled."""
_GUARD = '{{- include "leeward.defaults" . }}\n{{- if .Values.controlPlane.enabled }}\n', "{{- end }}\n"


def chart_files() -> dict[str, str]:
    """Contents by path below the chart. Helm makes the namespace that it installs into by itself."""
    members = [
        _whole(NAMESPACES, {"metadata": {**manifest["metadata"], **_KEPT}})
        for manifest in namespaces()
        if manifest["metadata"]["name"] != SYSTEM_NAMESPACE
    ]
    accounts = _render([*members, *(_whole(resource, manifest) for resource, _, manifest in rights())])
    return {
        "crds/definitions.yaml": _render(_whole(DEFINITIONS, definition) for definition in definitions()),
        "templates/rights.yaml": accounts.join(_GUARD),
    }


def _whole(resource: Resource[Manifest], manifest: Manifest) -> Manifest:
    return {"apiVersion": resource.api_version, "kind": resource.kind, **manifest}


def _render(manifests: Iterable[Manifest]) -> str:
    return _HEAD + render_yaml_stream(manifests, width=120)


def main(directory: Path) -> None:
    copied = {
        "files/rules.yaml": directory.parent / "prometheus/rules.yaml",
        "files/values.yaml": directory / "values.yaml",
    }
    copies = {name: _HEAD + source.read_text() for name, source in copied.items()}
    for name, content in {**chart_files(), **copies}.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
