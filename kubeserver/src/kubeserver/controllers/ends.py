"""Ends of objects by themselves: events, Jobs that are finished, bootstrap tokens, requests for certificates. Pure.

None is for an object that stays.
"""

import base64
import binascii
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from cryptography import x509

from kubeapi.meta import ReadOnlyManifest, exact_time
from kubeserver.auth.tokens.bootstrap import SECRET_TYPE
from kubeserver.values import entries, section

_NEVER = datetime.max.replace(tzinfo=UTC)
_DECIDED, _UNDECIDED = timedelta(hours=1), timedelta(hours=24)


def last_seen(event: ReadOnlyManifest) -> datetime | None:
    """Instant at which an event happened last, by its own account."""
    told = (
        section(event, "series").get("lastObservedTime"),
        event.get("lastTimestamp"),
        event.get("eventTime"),
        event["metadata"].get("creationTimestamp"),
    )
    return max(filter(None, map(_instant, told)), default=None)


def end_of_job(job: ReadOnlyManifest) -> datetime | None:
    """Instant so long after it was finished as it says.

    Kubernetes: pkg/controller/ttlafterfinished; same.
    """
    seconds = section(job, "spec").get("ttlSecondsAfterFinished")
    finished = max(_since(section(job, "status"), "Complete", "Failed"), default=None)
    return _later(finished, timedelta(seconds=seconds)) if isinstance(seconds, int) and finished is not None else None


def end_of_bootstrap_token(secret: ReadOnlyManifest) -> datetime | None:
    """Instant at which it expires.

    Kubernetes: pkg/controller/bootstrap/tokencleaner.go; same.
    """
    if secret.get("type") != SECRET_TYPE:
        return None
    try:
        return _instant(base64.b64decode(section(secret, "data").get("expiration", "")).decode())
    except (binascii.Error, UnicodeDecodeError):
        return None


def end_of_signing_request(request: ReadOnlyManifest) -> datetime | None:
    """An hour after it was decided, a day after it was made if nobody did, and never later than its certificate ends.

    Kubernetes: pkg/controller/certificates/cleaner; same.
    """
    status = section(request, "status")
    decided = [_later(since, _DECIDED) for since in _since(status, "Approved", "Denied", "Failed")]
    made = _instant(request["metadata"].get("creationTimestamp"))
    undecided = [made + _UNDECIDED] if made is not None and not entries(status, "conditions") else []
    return min((*decided, *undecided, *_end_of_certificate(status)), default=None)


def _since(status: Mapping[str, Any], *types: str) -> Iterator[datetime]:
    """Instants since which these conditions are true."""
    for condition in entries(status, "conditions"):
        if condition.get("type") in types and condition.get("status") == "True":
            told = (_instant(condition.get(field)) for field in ("lastUpdateTime", "lastTransitionTime"))
            yield from list(filter(None, told))[:1]


def _end_of_certificate(status: Mapping[str, Any]) -> Iterator[datetime]:
    try:
        yield x509.load_pem_x509_certificate(base64.b64decode(status.get("certificate", ""))).not_valid_after_utc
    except ValueError:
        return


def _later(instant: datetime, passed: timedelta) -> datetime:
    """Clients write these instants: one at the end of all calendars has nothing behind it."""
    try:
        return instant + passed
    except OverflowError:
        return _NEVER


def _instant(text: object) -> datetime | None:
    try:
        return exact_time(text) if isinstance(text, str) else None
    except ValueError:
        return None
