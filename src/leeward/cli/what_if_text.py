"""Text of `leeward what-if`: the answer as a sentence, then where it goes, what finds no room, and when."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from leeward.answers.fates import ApplicationFate, Fate
from leeward.answers.return_losses import ReturnLosses
from leeward.answers.what_if import ClusterFate, WhatIf
from leeward.answers.what_if_sentences import answer_of, brake_sentence
from leeward.cli.explain_text import ASSUMED, help_lines
from leeward.cli.text_lines import GOOD, NEEDS_SOMEBODY, QUIET, SOON, headline, pairs, paragraph, section, table, title
from leeward.core.placement.cause import cause_in
from leeward.operations.sentences import counted, counted_kind, full_moment, full_span

MOST_LISTED = 12
BY_SUM = "By the sum of what is free, and not by the grades of nodes, {} more would fit."


def what_if_lines(told: WhatIf, wide: bool = False) -> Iterator[str]:
    already = f", with {', '.join(told.lost_before)} already down" if told.lost_before else ""
    yield from title(f"{told.control_plane}, as of {full_moment(told.as_of)}{already}; nothing is changed")
    yield from headline(NEEDS_SOMEBODY if told.wanting else SOON if told.braked else GOOD, answer_of(told))
    yield from headline(SOON if told.braked else QUIET, brake_sentence(told))
    for unseen in told.unseen:
        yield from headline("?", f"could not be seen: {unseen}")
    yield from _clusters(told)
    if told.by_grade and told.wanting:
        yield from paragraph(f"Free capacity is counted {room_words(told)}.", "  ")
    yield from _wanting(told.wanting, wide)
    yield from _helps(told)
    yield from _missing(told, wide)
    yield from _others(told, wide)
    yield from _waits(told, wide)
    yield from _when(told)
    yield from _losses(told)


def _clusters(told: WhatIf) -> Iterator[str]:
    if not told.clusters:
        return
    yield from section("WHERE IT GOES")
    header = ("CLUSTER", "", "REPLICAS", "", "AFTER", "CORES FREE", "", "AFTER", "WAIT FOR A NODE")
    number = 9 if any(each.waiting for each in told.clusters) else 8
    yield from table(header[:number], [_cluster(each)[:number] for each in told.clusters], (1, 2, 4, 5, 7, 8))


def room_words(told: WhatIf) -> str:
    by_grade = told.by_grade[0] if len(told.by_grade) == 1 else counted(len(told.by_grade), "cluster")
    return f"by the grades of nodes (spec.resourceModels) in {by_grade}, else as the sum of what is free"


def _cluster(each: ClusterFate) -> Sequence[str]:
    before, after = str(each.replicas_before), str(each.replicas_after)
    return (
        each.cluster,
        each.change,
        before,
        "->",
        after,
        _cores(each.cores_free_before),
        "->",
        _cores(None if each.cores_free_after is None else max(0, each.cores_free_after)),
        str(each.waiting or "-"),
    )


def _cores(number: float | None, decimals: int = 1) -> str:
    return "" if number is None else f"{number:.{decimals}f}"


def _wanting(wanting: Sequence[ApplicationFate], wide: bool) -> Iterator[str]:
    """Applications that would be down, then those that serve with fewer. A cause is said once, above them."""
    for name, there in (
        ("WOULD BE DOWN", [each for each in wanting if each.serves_nobody]),
        ("WOULD SERVE WITH FEWER", [each for each in wanting if not each.serves_nobody]),
    ):
        if there:
            yield from section(name, counted(len(there), "application"))
            yield from _by_cause(there, wide)


def _by_cause(wanting: Sequence[ApplicationFate], wide: bool) -> Iterator[str]:
    by_reason = defaultdict[tuple[str, str], list[ApplicationFate]](list)
    for each in wanting:
        cause = cause_in(each.reason or "NoClusterFit", each.message)
        if each.by_sum:
            by_reason["", f"{cause} {BY_SUM.format(counted(each.by_sum, 'replica'))}"].append(each)
        else:
            by_reason[each.reason, cause].append(each)
    for (reason, cause), group in by_reason.items():
        yield from paragraph(f"{reason}: {cause}" if reason else cause)
        shown = group if wide else group[:MOST_LISTED]
        header = ("APPLICATION", "SERVE", "OF", "CORES MISSING", "THEN IN")
        rows = [
            (each.workload, str(each.serves), str(each.replicas), _cores(each.cores_missing, 2), _places(each.after))
            for each in shown
        ]
        yield from table(header, rows, (1, 2, 3), "    ")
        if len(group) > len(shown):
            yield f"    {len(group) - len(shown)} more: --wide"


def _helps(told: WhatIf) -> Iterator[str]:
    if told.helps:
        yield from section("WHAT WOULD HELP")
        yield from help_lines(told.helps)


def _missing(told: WhatIf, wide: bool) -> Iterator[str]:
    """Lines on what nothing takes along; unknown is whether something else puts it there."""
    if not told.missing_dependencies:
        return
    yield from section("MISSING THERE", "Pods wait for these, unless something else than a policy puts them there")
    shown = told.missing_dependencies if wide else told.missing_dependencies[:MOST_LISTED]
    rows = [
        (each.workload, each.cluster, each.needs, "elsewhere only" if each.known else "by no policy") for each in shown
    ]
    yield from table(("APPLICATION", "GOES TO", "NEEDS", "PROPAGATED"), rows)
    if len(told.missing_dependencies) > len(shown):
        yield f"  {len(told.missing_dependencies) - len(shown)} more: --wide"


def _places(targets: Mapping[str, int]) -> str:
    return " ".join(f"{name}:{count}" for name, count in targets.items())


def _others(told: WhatIf, wide: bool) -> Iterator[str]:
    moving = [each for each in told.applications if each.fate in (Fate.MOVES, Fate.CHANGED) and not each.missing]
    if moving and (wide or len(moving) <= MOST_LISTED):
        yield from section("MOVES")
        rows = [(each.workload, _places(each.before), _places(each.after)) for each in moving]
        yield from table(("APPLICATION", "FROM", "TO"), rows)
    elif moving:
        yield ""
        yield f"  {counted(len(moving), 'application')} move: --wide lists them"


def _waits(told: WhatIf, wide: bool) -> Iterator[str]:
    """Gates that hold replacements, rollouts that the outage meets, and groups that move together."""
    waits = [(each.workload, said) for each in told.applications for said in (*each.gates, *each.rollout, *each.group)]
    if waits:
        yield from section("WAITS")
    for workload, said in waits if wide else waits[:MOST_LISTED]:
        yield from paragraph(f"{workload}: {said.rstrip('.')}.")
    if len(waits) > MOST_LISTED and not wide:
        yield f"  {len(waits) - MOST_LISTED} more: --wide"


def _when(told: WhatIf) -> Iterator[str]:
    if not told.instants:
        return
    clocks = ", ".join(f"{flag} {full_span(seconds)}" for flag, seconds in told.clocks.items())
    yield from section("WHEN", f"with {clocks}" if clocks else "" if told.settings_told else ASSUMED)
    yield from pairs([(f"+{full_span(each.after_seconds)}", each.sentence) for each in told.instants])
    if told.cut_off:
        yield "  what comes later is not told"


def _losses(told: WhatIf) -> Iterator[str]:
    losses: ReturnLosses = told.losses
    if not losses.total:
        return
    yield from section("DELETED ON RETURN" if told.fails else "DELETED THERE")
    yield from paragraph(", ".join(counted_kind(number, kind) for kind, number in losses.kinds.items()))
    for what, names in (
        ("custom resources", losses.custom_resources),
        ("with all their custom resources", losses.definitions),
        ("addresses lost", losses.addresses),
        ("stays", losses.claims),
    ):
        if names:
            yield from paragraph(f"{what}: {', '.join(names)}")
