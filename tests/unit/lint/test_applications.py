"""Findings of lint in real applications: each finding was looked at, and is true; the articles' manifests have none."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from leeward.lint.checking import lint
from leeward.lint.files import read_manifests
from leeward.lint.picture import LintPicture
from tests.applications.application import Application, applications

ROOT = Path(__file__).parents[3]
FOUND: Mapping[str, list[str]] = {
    "argo": [
        # Workflows are judged, and these three are not: Argo CD says it of an Application in its own words.
        "LW012 AppProject argocd/default",
        "LW012 Application argocd/guestbook",
        "LW012 WorkflowTemplate argo/build",
    ],
    # The database has no other cluster to go to, as its policy says.
    "cloudnative-pg": ["LW003 PropagationPolicy databases/pg"],
    # Its HorizontalPodAutoscaler and the control plane both decide on its replicas.
    "ingress-nginx": ["LW010 Deployment ingress-nginx/ingress-nginx-controller"],
    # Grafana moves without its database.
    "prometheus-grafana": ["LW005 Deployment monitoring/grafana"],
    # Both sets stay with their data.
    "redis": ["LW005 StatefulSet cache/redis-master", "LW005 StatefulSet cache/redis-replicas"],
    # The brokers stay where their data is.
    "strimzi-kafka": ["LW003 PropagationPolicy kafka/events"],
}
"""Findings by application; in the others nothing is found."""


def found_in(*paths: Path) -> list[str]:
    read = read_manifests([str(path) for path in paths], b"", "default")
    assert (read.faults, read.passed_over) == ([], [])
    report = lint(LintPicture(read.objects, is_whole=False), "files")
    return [f"{finding.rule} {finding.about}" for finding in report.findings]


@pytest.mark.parametrize("application", applications(), ids=lambda application: application.name)
def test_an_application_has_the_findings_that_are_true_of_it(application: Application) -> None:
    files = (application.directory / name for name in ("templates.yaml", "policies.yaml"))
    assert sorted(found_in(*files)) == sorted(FOUND.get(application.name, []))


@pytest.mark.parametrize("name", ["divided.yaml", "duplicated.yaml"])
def test_the_manifests_of_the_articles_have_none(name: str) -> None:
    assert found_in(ROOT / "examples" / name) == []
