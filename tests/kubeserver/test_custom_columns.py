"""Contents of the printer columns of custom kinds."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kubeapi.meta import Manifest, format_time
from kubeserver.apiextensions.columns import columns_of

NOW = datetime(2026, 1, 2, tzinfo=UTC)
GADGET: Manifest = {
    "spec": {"size": 3, "ratio": 2.5, "name": "x", "on": True, "ports": [{"b": 2, "a": 1}, {"name": "second"}]},
    "status": {"since": format_time(NOW - timedelta(minutes=5)), "broken": "yesterday"},
}


@pytest.mark.parametrize(
    ("column_type", "path", "cell"),
    [
        ("string", ".spec.name", "x"),
        ("string", ".spec.size", "3"),
        ("string", ".spec.on", "true"),
        ("string", ".spec.ports[0]", '{"a":1,"b":2}'),
        ("string", ".spec.ports[*].name", "second"),
        ("string", ".spec.ports[0:1].b", "2"),
        ("string", ".spec.ports[7]", None),
        ("string", '.spec.ports[?(@.name=="second")].name', "second"),
        ("string", ".spec.nowhere.at.all", None),
        ("string", f".spec[{','.join('*' * 60)}][*,*,*,*,*,*,*,*,*]", None),
        ("integer", ".spec.size", 3),
        ("integer", ".spec.ratio", 2),
        ("integer", ".spec.name", None),
        ("integer", ".spec.on", None),
        ("number", ".spec.ratio", 2.5),
        ("number", ".spec.name", None),
        ("boolean", ".spec.on", True),
        ("boolean", ".spec.size", None),
        ("date", ".status.since", "5m"),
        ("date", ".status.broken", "<invalid>"),
        ("date", ".spec.size", None),
    ],
)
def test_a_column_shows_the_first_value_of_its_type(column_type: str, path: str, cell: Any):
    (column,) = columns_of([{"name": "Seen", "type": column_type, "jsonPath": path}])
    assert column.cell(GADGET, NOW) == cell
