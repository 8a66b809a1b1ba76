"""Text of `leeward lint`: the count, then each finding with its place and its remedy."""

from collections.abc import Iterator

from leeward.cli.text_lines import GOOD, NEEDS_SOMEBODY, QUIET, SOON, headline, paragraph, title
from leeward.lint.findings import FindingLevel, LintFinding, LintReport
from leeward.operations.sentences import counted

MARKS = {FindingLevel.ERROR: NEEDS_SOMEBODY, FindingLevel.WARNING: SOON, FindingLevel.NOTE: QUIET}


def lint_lines(report: LintReport) -> Iterator[str]:
    yield from title(f"{report.asked}, {counted(report.objects, 'object')}; nothing is changed")
    for unseen in report.unseen:
        yield from headline("?", f"could not be read: {unseen}")
    yield from _headline(report)
    for finding in report.findings:
        yield from _finding(finding)
    if report.ignored or report.unasked:
        yield ""
    if report.ignored:
        yield from paragraph(f"{counted(report.ignored, 'finding')} ignored, by annotation or --ignore")
    for each in report.unasked:
        yield from paragraph(
            f"{'asked in part' if each.in_part else 'not asked'}: {each.rule} {each.name}, which {each.why}"
        )


def _headline(report: LintReport) -> Iterator[str]:
    counts = [(level, report.count(level)) for level in FindingLevel]
    told = [counted(number, level.value) for level, number in counts if number]
    if not told and report.unseen:
        yield from headline(QUIET, "nothing is found in what could be read")
        return
    if not told:
        yield from headline(
            GOOD, f"nothing is found that would keep a failover from happening, or from helping{_but(report)}"
        )
        return
    worst = next(level for level, number in counts if number)
    yield from headline(MARKS[worst] if worst is not FindingLevel.NOTE else GOOD, ", ".join(told))


def _but(report: LintReport) -> str:
    return f"; {counted(len(report.unasked), 'rule')} could not look at everything, see below" if report.unasked else ""


def _finding(finding: LintFinding) -> Iterator[str]:
    where = f"{finding.file}:{finding.line}" if finding.file else finding.about
    yield ""
    yield from headline(MARKS[finding.level], f"{where}  {finding.rule} {finding.name}")
    yield from paragraph(finding.sentence, "    ", "      ")
    yield from paragraph(f"mend: {finding.mend}", "    ", "          ")
