"""Each rule finds what is planted for it, on its line, and leaves the near miss alone.

A file of tests/data/lint says in comments which rules fire, each on its line; without comments none does.
"""

import re
from collections import Counter
from pathlib import Path

import pytest

from leeward.core.admission_warnings import Concern
from leeward.lint.checking import lint
from leeward.lint.files import read_manifests
from leeward.lint.findings import LintReport
from leeward.lint.picture import LintInput, LintPicture
from leeward.lint.rule_table import RULES

PLANTED = sorted((Path(__file__).parents[2] / "data/lint").glob("*.yaml"))
_COMMENT = re.compile(r"# (LW.*)$")


def planted_in(file: Path) -> list[tuple[str, int]]:
    lines = enumerate(file.read_text().splitlines(), start=1)
    found = ((number, match[1]) for number, line in lines if (match := _COMMENT.search(line)))
    return sorted((rule, number) for number, rules in found for rule in rules.split())


def linted(*files: Path) -> LintReport:
    found = read_manifests([str(file) for file in files], b"", "default")
    assert (found.faults, found.passed_over) == ([], [])
    return lint(LintPicture(found.objects, is_whole=False), "files")


@pytest.mark.parametrize("file", PLANTED, ids=lambda file: file.stem)
def test_what_is_planted_is_found_on_its_line_and_nothing_else(file: Path) -> None:
    findings = linted(file).findings
    assert sorted((finding.rule, finding.line) for finding in findings) == planted_in(file)
    assert all(finding.file == str(file) and finding.sentence and finding.mend for finding in findings)


def test_every_rule_has_a_manifest_that_it_finds_and_a_near_miss() -> None:
    """Rules that need a fleet are in test_rules_of_fleets.py; what is in the files twice has no near miss."""
    by_files = {rule.id for rule in RULES if LintInput.FLEET not in rule.needs}
    assert {rule for file in PLANTED for rule, _ in planted_in(file)} == by_files
    missed = {file.stem[:5]: planted_in(file) for file in PLANTED if "near" in file.stem}
    near = {rule for rule, planted in missed.items() if rule not in dict(planted)}
    assert by_files - near == {"LW017", "LW021"}, "LW005-near-no-claims is the near miss of LW017"


def test_ids_are_in_order_and_names_are_unique() -> None:
    assert [rule.id for rule in RULES] == [f"LW{number:03}" for number in range(1, len(RULES) + 1)]
    assert len({rule.name for rule in RULES}) == len(RULES)


def test_one_rule_tells_of_each_concern_that_admission_warns_of() -> None:
    """LW017 asks about claims as well, and LW026 about each member."""
    told = Counter(concern for rule in RULES for concern in rule.warns)
    assert told == Counter({*Concern} - {Concern.PARTED, Concern.MOVES_APART})


def test_an_object_ignores_rules_by_its_annotation_and_that_is_counted() -> None:
    report = linted(PLANTED[0].parent / "ignored.yaml")
    assert (report.findings, report.ignored) == ([], 2)


def test_of_the_annotations_that_there_are_the_nearest_is_named_first() -> None:
    (finding,) = linted(PLANTED[0].parent / "LW022.yaml").findings
    said = "PropagationPolicy shop/web has the annotation leeward.dev/failbak, which nobody reads; there are "
    assert finding.sentence.startswith(f"{said}leeward.dev/failback, leeward.dev/failback-")
    assert finding.sentence.count("leeward.dev/") == 14
