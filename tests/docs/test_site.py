import re
import tomllib
from pathlib import Path

import pytest

from leeward.api import names, rollout
from leeward.core import hub_generation
from tests.site import ROOT, DeadLink, gathered, pages, write

KNOWN = {"pages/a.md": "a.md", "pages/b/c.md": "b/c.md", "bench/README.md": "measurements.md"}


def test_all_pages_are_gathered_and_each_can_be_reached(tmp_path: Path) -> None:
    write(tmp_path / "site")
    there = {path.relative_to(tmp_path / "site").as_posix() for path in (tmp_path / "site").rglob("*.md")}
    assert set(pages().values()) <= there
    reached = set(re.findall(r'"([^"]+\.md)"', (ROOT / "zensical.toml").read_text()))
    assert reached <= there
    assert {page for page in there - reached if not page.startswith("decisions/")} == set()
    assert tomllib.loads((ROOT / "zensical.toml").read_text())["project"]["docs_dir"] == "build/docs"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[x](b/c.md#top)", "[x](b/c.md#top)"),
        ("[x](../bench/README.md)", "[x](measurements.md)"),
        ("[the rules](../.ci/run)", "the rules (`.ci/run`)"),
        ("[the Makefile](../Makefile)", "the Makefile"),
        ("[x](#here), ![y](z.svg)", "[x](#here), ![y](z.svg)"),
        ("    [x](nowhere.md)", "    [x](nowhere.md)"),
    ],
)
def test_links_are_turned_to_where_their_targets_are(text: str, told: str) -> None:
    assert gathered("pages/a.md", text, KNOWN) == told


def test_a_link_to_nothing_is_an_error() -> None:
    with pytest.raises(DeadLink, match=r"pages/a\.md: nowhere\.md is not there"):
        gathered("pages/a.md", "[x](nowhere.md)", KNOWN)


def test_the_page_of_conditions_has_a_paragraph_for_each_of_ours_and_no_other() -> None:
    every = {**vars(names), **vars(rollout), **vars(hub_generation)}.items()
    named = {value for name, value in every if name.endswith("_CONDITION") and "leeward.dev/" in value}
    assert set(re.findall(r"^## (leeward\.dev/\w+)$", (ROOT / "docs/conditions.md").read_text(), re.MULTILINE)) == named
