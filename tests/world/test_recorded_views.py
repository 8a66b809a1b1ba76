"""The dashboard sends what is recorded for the page."""

import pytest

from tests.recorded_views import FOLDER, recorded, written


@pytest.mark.long
def test_the_recorded_views_are_what_the_dashboard_sends() -> None:
    """`python -m tests.recorded_views` writes them; the page's types are checked against them."""
    views = recorded()
    assert {path.stem for path in FOLDER.glob("*.json")} == set(views)
    for name, view in views.items():
        assert (FOLDER / f"{name}.json").read_text() == written(view), name
