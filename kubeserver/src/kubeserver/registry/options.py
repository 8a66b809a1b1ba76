"""The query parameters of the verbs, read and checked."""

from collections.abc import Mapping
from dataclasses import dataclass

from kubeapi.status import Problem
from kubeserver.errors import Refused, bad_request, broken_version, invalid
from kubeserver.kinds.metadata import too_long
from kubeserver.values import is_set

_GROUP = "meta.k8s.io"
_MAX_MANAGER_BYTES = 128
_MAX_DIGITS = 100
"""Zeros in front included."""
_MATCH = "resourceVersionMatch"
_INITIAL = "sendInitialEvents"


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Options of create, update and patch. `field_validation` is Strict, Warn or Ignore."""

    dry_run: bool = False
    field_validation: str = "Warn"
    force: bool = False


@dataclass(frozen=True, slots=True)
class ListOptions:
    """Options of list, watch and deletecollection. `resource_version` is None where it was not given."""

    watch: bool = False
    label_selector: str = ""
    field_selector: str = ""
    resource_version: int | None = None
    match: str = ""
    limit: int = 0
    continue_token: str = ""
    timeout_seconds: int = 0
    bookmarks: bool = False
    send_initial_events: bool | None = None


def write_options(query: Mapping[str, str], kind: str, *, apply: bool = False) -> WriteOptions:
    """Raises: Refused for values that do not exist, or do not go together."""
    dry_run = query.get("dryRun", "All")
    if dry_run != "All":
        raise invalid(_GROUP, kind, "", [Problem.not_supported("dryRun", [dry_run], ["All"])])
    validation = query.get("fieldValidation", "") or "Warn"
    if validation not in ("Strict", "Warn", "Ignore"):
        supported = ["", "Ignore", "Strict", "Warn"]
        raise invalid(_GROUP, kind, "", [Problem.not_supported("fieldValidation", validation, supported)])
    problems = _manager_problems(query, kind, apply)
    if problems:
        raise invalid(_GROUP, kind, "", problems)
    return WriteOptions("dryRun" in query, validation, is_set(query, "force"))


def _manager_problems(query: Mapping[str, str], kind: str, apply: bool) -> list[Problem]:
    manager = query.get("fieldManager", "")
    problems: list[Problem] = []
    if apply and not manager:
        problems.append(Problem.required("fieldManager", "is required for apply patch"))
    if kind == "PatchOptions" and not apply and "force" in query:
        problems.append(Problem.forbidden("force", "may not be specified for non-apply patch"))
    if len(manager.encode()) > _MAX_MANAGER_BYTES:
        problems.append(too_long("fieldManager", _MAX_MANAGER_BYTES))
    for position, character in enumerate(manager):
        if not character.isprintable():
            said = f"invalid character U+{ord(character):04X} (at position {position})"
            problems.append(Problem.invalid("fieldManager", manager, said))
            break
    return problems


def list_options(query: Mapping[str, str]) -> ListOptions:
    """Raises: Refused for values that do not exist or do not go together."""
    watch = is_set(query, "watch")
    options = ListOptions(
        watch=watch,
        label_selector=query.get("labelSelector", ""),
        field_selector=query.get("fieldSelector", ""),
        resource_version=_version(query.get("resourceVersion", ""), watch),
        match=query.get(_MATCH, ""),
        limit=_number(query, "limit"),
        continue_token=query.get("continue", ""),
        timeout_seconds=_number(query, "timeoutSeconds"),
        bookmarks=is_set(query, "allowWatchBookmarks"),
        send_initial_events=is_set(query, _INITIAL) if _INITIAL in query else None,
    )
    problems = _watch_problems(options) if watch else _list_problems(options)
    if problems:
        raise invalid(_GROUP, "ListOptions", "", problems)
    return options


def parse_version(text: str) -> int | None:
    """The number of a resourceVersion; None when it is empty. Raises: ValueError."""
    if not text:
        return None
    if not (text.isascii() and text.isdigit()):
        raise ValueError(text)
    return int(text)


def _version(text: str, watch: bool) -> int | None:
    try:
        return parse_version(text)
    except ValueError:
        refusal = broken_version(text, "resourceVersion")
        raise (refusal if watch else _unreadable_version(refusal)) from None


def _unreadable_version(refusal: Refused) -> Refused:
    return bad_request(f"invalid resource version: {refusal.status.message}")


def _list_problems(options: ListOptions) -> list[Problem]:
    problems: list[Problem] = []
    if options.send_initial_events is not None:
        problems.append(Problem.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    if not options.match:
        return problems
    if options.continue_token:
        problems.append(Problem.forbidden(_MATCH, f"{_MATCH} is forbidden when continue is provided"))
    elif options.resource_version is None:
        problems.append(Problem.forbidden(_MATCH, f"{_MATCH} is forbidden unless resourceVersion is provided"))
    elif options.match not in ("Exact", "NotOlderThan"):
        problems.append(Problem.not_supported(_MATCH, options.match, ["Exact", "NotOlderThan", ""]))
    elif options.match == "Exact" and options.resource_version == 0:
        problems.append(Problem.forbidden(_MATCH, f'{_MATCH} "exact" is forbidden for resourceVersion "0"'))
    return problems


def _watch_problems(options: ListOptions) -> list[Problem]:
    if options.send_initial_events is None:
        if options.match:
            said = f"{_MATCH} is forbidden for watch unless sendInitialEvents is provided"
            return [Problem.forbidden(_MATCH, said)]
        return []
    problems: list[Problem] = []
    if options.match != "NotOlderThan":
        said = f"sendInitialEvents requires setting {_MATCH} to NotOlderThan"
        problems.append(Problem.forbidden(_MATCH, said))
    if options.match not in ("", "NotOlderThan"):
        problems.append(Problem.not_supported(_MATCH, options.match, ["NotOlderThan"]))
    return problems


def _number(query: Mapping[str, str], name: str) -> int:
    text = query.get(name, "")
    return max(parse_integer(text), 0) if text else 0


def parse_integer(text: str) -> int:
    """Parses an integer of 64 bits. Raises: Refused."""
    if not (text.isascii() and text.removeprefix("-").isdigit()):
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    if len(text) > _MAX_DIGITS or not -(1 << 63) <= int(text) < 1 << 63:
        raise bad_request(f'strconv.ParseInt: parsing "{text}": value out of range')
    return int(text)
