"""Report of `make costs`."""

from tests.costs import Cost, render


def test_costs_are_added_up_by_folder_and_by_file_and_the_dearest_comes_first() -> None:
    costs = {
        "tests/unit/test_costs.py::test_one[x]": Cost(1.0, 0.0),
        "tests/unit/test_costs.py::test_two": Cost(0.5, 2.0),
        "tests/world/test_writes.py::test_three": Cost(3.0, 0.0),
    }
    assert list(render(costs)) == [
        "   CPU s   others  tests  folder",
        "     3.5      2.0      2  tests/unit",
        "     3.0      0.0      1  tests/world",
        "   CPU s   others  tests  file",
        "     3.5      2.0      2  tests/unit/test_costs.py",
        "     3.0      0.0      1  tests/world/test_writes.py",
        "   CPU s   others  tests  test",
        "     3.0      0.0      1  tests/world/test_writes.py::test_three",
        "     2.5      2.0      1  tests/unit/test_costs.py::test_two",
        "     1.0      0.0      1  tests/unit/test_costs.py::test_one[x]",
    ]
