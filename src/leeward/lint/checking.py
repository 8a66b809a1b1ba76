"""Checking: asks the rules about a picture, and leaves out what is ignored."""

from collections.abc import Collection, Iterable, Iterator, Sequence

from leeward.lint.findings import Diagnostic, FindingLevel, LintFinding, LintReport, UnaskedRule, field_text
from leeward.lint.object_rules import unknown_ignores, warned_of
from leeward.lint.objects import LintObject
from leeward.lint.picture import LintInput, LintPicture
from leeward.lint.rule_table import RULES, RULES_BY_ID, LintRule

_ORDER = list(FindingLevel)


def lint(picture: LintPicture, asked: str, ignored: Collection[str] = (), unseen: Sequence[str] = ()) -> LintReport:
    """Report of what the rules find, worst first. `asked` says what was looked at; `ignored` are ids of rules."""
    findings, left_out, unasked = list[LintFinding](), 0, list[UnaskedRule]()
    for rule in RULES:
        if missing := rule.needs - picture.inputs:
            unasked.append(UnaskedRule(rule.id, rule.name, f"needs {_named(missing)}"))
            continue
        if missing := rule.more_with - picture.inputs:
            why = f"sees only {rule.sees} without {_named(missing)}"
            unasked.append(UnaskedRule(rule.id, rule.name, why, in_part=True))
        for found in (*rule.find(picture), *warned_of(picture, rule.warns)):
            if not _is_asked(found):
                continue
            if rule.id in ignored or any(rule.id in each.ignored_rules for each in _objects(found)):
                left_out += 1
            else:
                findings.append(_told(rule, found, picture))
    findings += _bad_ignores(picture)
    findings.sort(key=lambda each: (_ORDER.index(each.level), each.rule, each.file, each.line, each.about))
    number = sum(each.is_asked for each in picture.objects)
    return LintReport(asked, number, findings, left_out, unasked, tuple(unseen))


def _named(inputs: Iterable[LintInput]) -> str:
    return " and ".join(sorted(each.value for each in inputs))


def _bad_ignores(picture: LintPicture) -> Iterator[LintFinding]:
    """Findings on what is to be ignored: nothing that is written down is ignored silently, the wish to ignore something
    least of all."""
    for found in unknown_ignores(picture, RULES_BY_ID):
        if _is_asked(found):
            yield _told(RULES_BY_ID["LW001"], found, picture)


def _objects(found: Diagnostic) -> Iterator[LintObject]:
    yield from (found.about,) if found.about is not None else ()
    yield from found.others


def _is_asked(found: Diagnostic) -> bool:
    return found.about is None or any(each.is_asked for each in _objects(found))


def _told(rule: LintRule, found: Diagnostic, picture: LintPicture) -> LintFinding:
    """Finding as it is told. Of an object that nobody asked about, the finding stands at the first that was."""
    at = next((each for each in _objects(found) if each.is_asked), None)
    path = found.path if at is found.about else ()
    about = str(found.about) if found.about is not None else _control_plane(picture)
    return LintFinding(
        rule=rule.id,
        name=rule.name,
        level=rule.level,
        about=about,
        sentence=found.sentence,
        mend=found.mend or rule.mend,
        file="" if at is None else at.file,
        line=0 if at is None else at.line_of(path),
        field=field_text(path),
    )


def _control_plane(picture: LintPicture) -> str:
    return "control plane" if picture.state is None else picture.state.control_plane or "control plane"
