"""Files whose types are checked again: those whose text, or what the modules say that they import, has changed."""

import pytest

from tests import type_check

FUNCTION = 'def found(name: str) -> int:\n    """Number."""\n    return len(name)\n'
METHOD = "class Kept:\n    def keep(self, name: str) -> None:\n        count = 1\n        print(count)\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (FUNCTION, FUNCTION.replace("len(name)", "1")),
        (FUNCTION, FUNCTION.replace("Number", "Count")),
        (f"async {FUNCTION}", f"async {FUNCTION}".replace("len(name)", "len([name])")),
        (METHOD, METHOD.replace("print", "repr")),
    ],
)
def test_a_body_is_the_matter_of_its_own_file(before: str, after: str) -> None:
    assert type_check.declarations(before) == type_check.declarations(after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (FUNCTION, FUNCTION.replace("-> int", "-> float")),
        (FUNCTION, FUNCTION.replace("name: str", "name: bytes")),
        (FUNCTION.replace(" -> int", ""), FUNCTION.replace(" -> int", "").replace("len(name)", "name")),
        (FUNCTION.replace("return len(name)", "..."), FUNCTION.replace("return len(name)", "return 1")),
        (f"async {FUNCTION}", f"async {FUNCTION}".replace("return len(name)", "yield 1")),
        (METHOD, METHOD.replace("count = 1", "self.count = 1")),
        (METHOD.replace("count = 1", "self.count = 1"), METHOD.replace("count = 1", "self.count = ''")),
        (METHOD, METHOD.replace("count = 1", "global total; total = 1")),
        ("TABLE = [1]\n", "TABLE = ['']\n"),
        ("TABLE = []  # type: list[int]\n", "TABLE = []  # type: list[str]\n"),
    ],
)
def test_what_others_are_told_changes_what_a_module_declares(before: str, after: str) -> None:
    assert type_check.declarations(before) != type_check.declarations(after)


def test_a_generator_inside_of_a_function_makes_it_none() -> None:
    inside = FUNCTION.replace("return len(name)", "each = (lambda: (yield))\n    return 1")
    assert type_check.declarations(inside) == type_check.declarations(FUNCTION)


TEXTS = {"low": "1", "middle": "2", "high": "3", "beside": "4"}
IMPORTS = {"low": [], "middle": ["low"], "high": ["middle", "low"], "beside": []}


@pytest.mark.parametrize(
    ("texts", "declared", "imports", "surroundings", "expected"),
    [
        ({}, {}, {}, "", set[str]()),
        ({"low": "changed"}, {}, {}, "", {"low"}),
        ({"low": "changed"}, {"low": "changed"}, {}, "", {"low", "middle", "high"}),
        ({"high": "changed"}, {"high": "changed"}, {}, "", {"high"}),
        ({}, {}, {"beside": ["low"]}, "", {"beside"}),
        ({}, {}, {}, "other versions", set(TEXTS)),
    ],
)
def test_a_file_is_checked_again_when_something_that_it_depends_on_has_changed(
    texts: dict[str, str],
    declared: dict[str, str],
    imports: dict[str, list[str]],
    surroundings: str,
    expected: set[str],
) -> None:
    before = type_check.check_keys(TEXTS, TEXTS, IMPORTS, "")
    after = type_check.check_keys(TEXTS | texts, TEXTS | declared, IMPORTS | imports, surroundings)
    assert {path for path in TEXTS if before[path] != after[path]} == expected


def test_a_package_belongs_to_what_is_imported_from_it() -> None:
    imported = type_check.imports()["src/leeward/core/placement/phases.py"]
    assert {"src/leeward/__init__.py", "src/leeward/core/__init__.py", "src/leeward/core/placement/__init__.py"} <= {
        *imported
    }
