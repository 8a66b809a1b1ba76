"""Renders a report as SARIF 2.1.0, which code hosts show beside the lines that findings are about.

OASIS: sarif-v2.1.0. An object of a control plane has no lines, and is told as a logical location.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from leeward import __version__
from leeward.lint.findings import LintFinding, LintReport
from leeward.lint.rule_table import RULES

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def render_sarif(report: LintReport) -> dict[str, Any]:
    """Report as plain JSON values."""
    run: dict[str, Any] = {
        "tool": {
            "driver": {
                "name": "leeward lint",
                "version": __version__,
                "rules": [
                    {
                        "id": rule.id,
                        "name": rule.name,
                        "shortDescription": {"text": rule.title},
                        "fullDescription": {"text": rule.harm},
                        "help": {"text": rule.mend},
                        "defaultConfiguration": {"level": rule.level.value},
                    }
                    for rule in RULES
                ],
            }
        },
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {
                "executionSuccessful": not report.unseen,
                "toolExecutionNotifications": [
                    {"level": "error", "message": {"text": f"could not be read: {each}"}} for each in report.unseen
                ],
            }
        ],
        "results": list(_results(report)),
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _results(report: LintReport) -> Iterator[dict[str, Any]]:
    index = {rule.id: number for number, rule in enumerate(RULES)}
    for finding in report.findings:
        yield {
            "ruleId": finding.rule,
            "ruleIndex": index[finding.rule],
            "level": finding.level.value,
            "message": {"text": f"{finding.sentence}. What mends it: {finding.mend}."},
            "locations": [_location(finding)],
        }


def _location(finding: LintFinding) -> dict[str, Any]:
    kind, _, name = finding.about.partition(" ")
    logical: dict[str, Any] = {"name": name or kind, "kind": "resource", "fullyQualifiedName": finding.about}
    located: dict[str, Any] = {"logicalLocations": [logical]}
    if finding.file:
        located["physicalLocation"] = {
            "artifactLocation": {"uri": _uri(finding.file)},
            "region": {"startLine": max(1, finding.line)},
        }
    return located


def _uri(file: str) -> str:
    """Relative where the file was named so, as code hosts want it."""
    path = Path(file)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())
