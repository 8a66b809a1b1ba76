"""What is measured is documented, and what is documented is measured."""

import re
from pathlib import Path

from leeward.runtime.metrics import Metrics

PAGE = Path(__file__).parents[3] / "docs" / "observability.md"


def test_the_table_of_metrics_is_the_code() -> None:
    table = [line.split("|")[1] for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    metrics = table[: table.index(next(row for row in table if "controller_runtime_reconcile_time" in row)) + 1]
    documented = {name for row in metrics for name in re.findall(r"`(\w+)`", row)}
    measured = {
        f"{family.name}_total" if family.type == "counter" else family.name for family in Metrics().registry.collect()
    }
    assert documented == measured
