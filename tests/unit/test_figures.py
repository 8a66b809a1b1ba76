"""Bounds of the centre's size, which only go down."""

from tests.figures import BOUNDS, figures


def test_the_centre_does_not_grow() -> None:
    found = figures()
    assert {name: figure for name, figure in found.items() if figure > BOUNDS[name]} == {}
    assert found.keys() == BOUNDS.keys()
    assert found["files of one eviction"] > 1
