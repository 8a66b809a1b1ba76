"""Words of `make audit` on what pip-audit found, and how it ends."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts/audit"
FINE: dict[str, object] = {"name": "fine", "version": "1", "vulns": []}
UNKNOWN: dict[str, object] = {"name": "unknown", "skip_reason": "Dependency not found"}
HOLED: dict[str, object] = {"name": "holed", "version": "2", "vulns": [{"id": "CVE-1", "fix_versions": ["3"]}]}


@pytest.mark.parametrize(
    ("found", "code", "said"),
    [
        ("", 2, "NOT audited: pip-audit gave no answer"),
        ('{"dependencies": 1}', 2, "NOT audited: pip-audit gave no answer"),
        ([FINE, FINE], 0, "2 packages, none with a known vulnerability."),
        ([FINE, HOLED], 1, "holed 2: CVE-1, fixed in 3"),
        ([FINE, UNKNOWN], 2, "NOT audited: of 2 packages, 1 are on no list of vulnerabilities (unknown)."),
        ([UNKNOWN, HOLED], 1, "holed 2: CVE-1, fixed in 3\nNOT audited: of 2 packages, 1 are"),
        ([UNKNOWN] * 2, 2, "NOT audited: no list of vulnerabilities can be reached from here: none of 2 packages"),
        ([], 2, "NOT audited: there was no package to look at"),
    ],
)
def test_what_was_not_looked_at_is_not_good(found: object, code: int, said: str) -> None:
    told = found if isinstance(found, str) else json.dumps({"dependencies": found})
    done = subprocess.run([sys.executable, str(SCRIPT)], input=told, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (code, "")
    assert said in done.stdout
