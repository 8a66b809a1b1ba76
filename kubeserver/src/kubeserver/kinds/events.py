"""Rules of Events: those of the core group, and what `events.k8s.io/v1` asks for beyond them.

Both are read as they are stored, in the words of the core group, and so are the faults that are found.

Kubernetes: pkg/apis/core/validation/events.go; the same.
"""

from collections.abc import Iterator

from kubeapi.diff import is_equal
from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.status import Problem
from kubeserver.kinds.pod_rules.texts import named
from kubeserver.kinds.views import NewEvent
from kubeserver.names import dns_subdomain, qualified_name
from kubeserver.values import section

_DEFAULT, _SYSTEM = "default", "kube-system"
_LONGEST = {"reportingInstance": 128, "action": 128, "reason": 128, "message": 1024}
_FROZEN = (
    "involvedObject",
    "reason",
    "message",
    "type",
    "eventTime",
    "action",
    "related",
    "reportingComponent",
    "reportingInstance",
)
_OF_OLD = ("firstTimestamp", "lastTimestamp", "count", "source")
_SHOWN = {"reportingComponent": "reportingController"}


def validate_event(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    """Problems of an Event of the core group, which knows its time as `eventTime` if it is of the new kind."""
    del old
    return list(_problems(manifest, "reportingComponent"))


def validate_new_event(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    """Problems of an Event of `events.k8s.io/v1`, of which only the series goes on."""
    event = _stored(manifest)
    problems = [*_problems(event, _SHOWN["reportingComponent"])]
    if old is None:
        return [*problems, *_name_problems(event), *_series_problems(event), *_new_problems(event)]
    before = _stored(old)
    if not is_equal(event.get("series"), before.get("series")):
        problems += _series_problems(event)
    return [*problems, *_changes(event, before)]


def _stored(manifest: ReadOnlyManifest) -> Manifest:
    event = dict(manifest)
    NewEvent().store(event)
    return event


def _problems(event: ReadOnlyManifest, reporter: str) -> Iterator[Problem]:
    namespace, about = event["metadata"].get("namespace", ""), section(event, "involvedObject").get("namespace", "")
    if not event.get("eventTime"):
        if namespace != about if about else namespace not in ("", _DEFAULT):
            yield _elsewhere(about)
    else:
        if not about and namespace not in (_DEFAULT, _SYSTEM):
            yield _elsewhere(about)
        yield from _reporter_problems(event, reporter)
        for field, limit in _LONGEST.items():
            said = event.get(field, "")
            if not said and field != "message":
                yield Problem.required(field)
            if len(said.encode()) > limit:
                yield Problem.invalid(field, "", f"can have at most {limit} characters")
    yield from named(dns_subdomain, namespace, "namespace")


def _elsewhere(about: str) -> Problem:
    return Problem.invalid("involvedObject.namespace", about, "does not match event.namespace")


def _reporter_problems(event: ReadOnlyManifest, field: str) -> Iterator[Problem]:
    reporter = event.get("reportingComponent", "")
    if not reporter:
        yield Problem.required(field)
    yield from named(qualified_name, reporter, field)


def _name_problems(event: ReadOnlyManifest) -> Iterator[Problem]:
    yield from named(dns_subdomain, event["metadata"].get("name", ""), "metadata.name")


def _series_problems(event: ReadOnlyManifest) -> Iterator[Problem]:
    series = section(event, "series")
    if series and series.get("count", 0) < 2:
        yield Problem.invalid("series.count", "", "should be at least 2")
    if series and not series.get("lastObservedTime"):
        yield Problem.required("series.lastObservedTime")


def _new_problems(event: ReadOnlyManifest) -> Iterator[Problem]:
    if not event.get("eventTime"):
        yield Problem.required("eventTime")
    if event.get("type") not in ("Normal", "Warning"):
        yield Problem.invalid("type", "", f"has invalid value: {event.get('type', '')}")
    for field in _OF_OLD:
        if event.get(field):
            yield Problem.invalid(field, "", "needs to be unset")


def _changes(new: ReadOnlyManifest, old: ReadOnlyManifest) -> Iterator[Problem]:
    for field in _FROZEN:
        if not is_equal(new.get(field), old.get(field)):
            yield Problem.invalid(_SHOWN.get(field, field), new.get(field), "field is immutable")
