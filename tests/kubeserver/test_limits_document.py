"""kubeserver/README.md: what it says is kept is served."""

import re
from pathlib import Path

from kubeserver.builtin_kinds import BUILT_IN

DOCUMENT = Path(__file__).parents[2] / "kubeserver" / "README.md"


def test_every_kind_that_is_said_to_be_kept_is_served():
    kept = DOCUMENT.read_text().partition("### Kept")[2].partition("\n### ")[0]
    rows = re.findall(r"^\| (`.*?`) \|", kept, re.MULTILINE)
    named = {kind for row in rows for kind in re.findall(r"`(\w+)`", row)}
    assert len(named) > 10
    assert named <= {kind.kind for kind in BUILT_IN}
