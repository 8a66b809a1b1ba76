"""Limits of how large and how deep an object may be, on its way in and as it is stored; how long a request may take.
Pure.

A patch is small and what it makes may be large, so both are looked at. What is stored is bounded so that whoever reads
it later can.
"""

import re
from collections.abc import Mapping
from itertools import accumulate

from msgspec import DecodeError, Raw, Struct, json

from kubeapi.status import Status
from kubeserver.errors import Refused, bad_request
from kubeserver.serialization.durations import duration_fault
from kubeserver.serialization.protobuf import MEDIA_TYPE as PROTOBUF

MAX_BODY_BYTES = 3 * 1024 * 1024
MAX_STORED_BYTES = 1536 * 1024
"""Bytes of a stored object: etcd's `--max-request-bytes`, by which a kube-apiserver stores no larger one."""
MAX_DEPTH = 200
MAX_VALUES = 100_000
"""A megabyte of `[0,0,...` is half a million values, each of which is looked at many times; the largest definitions
have some sixty thousand."""
FEW_VALUES = 10_000
"""Values that take no time to speak of, however large they are together."""
MAX_LARGE_VALUES = 200_000
"""Values of an object of a large resource, which may have `MAX_BODY_BYTES` (`StoreBounds.large`)."""
MAX_FIELDS = 60_000
"""Fields of a body of `MAX_VALUES`: each is checked, and has an owner. `managedFields` may have as many beside: they
name each field once more. Of a large resource, the bound is that of its status."""
_YAML = ("application/yaml", "application/apply-patch+yaml")
LEAVING_BYTES = 64 * 1024
"""Bytes that an object may grow by while it is deleted: a deletion must never fail for its size."""

_STRINGS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
"""Strings in JSON. A string that does not end goes to the end of the text: no letter is looked at twice."""
_NOT_BRACKETS = bytes(code for code in range(256) if code not in b"[]{}")
_STEPS = [1 if code in b"[{" else -1 for code in range(256)]
"""Steps by which the text is deeper behind each bracket."""


def check_body(body: bytes, content_type: str = "", *, large: bool = False) -> None:
    """Raises: Refused for JSON that is nested too deeply or has too many values. The rest is left to its parser.

    YAML has bounds of its own where it is read: its texts need no quotes, so that their signs look like values. So does
    protobuf, whose bytes may be any sign.
    """
    media_type = content_type.partition(";")[0].strip()
    if media_type == PROTOBUF:
        if len(body) > MAX_STORED_BYTES:
            raise too_large(MAX_STORED_BYTES)
        return
    is_yaml = media_type in _YAML
    if is_yaml and not body.lstrip().startswith((b"{", b"[")):
        return
    fault = _fault_of(body, large=large)
    if fault and (not is_yaml or _is_json(body)):
        raise bad_request(f"the request body {fault}")


def _fault_of(body: bytes, *, large: bool) -> str:
    most, fields = (MAX_LARGE_VALUES, MAX_LARGE_VALUES) if large else (MAX_VALUES, 2 * MAX_FIELDS)
    if is_too_deep(body):
        return f"is nested more than {MAX_DEPTH} levels deep"
    if has_too_many_values(body, most):
        return f"has more than {most} values; put them into several objects"
    if _has_more(body, b":", fields):
        return f"has more than {fields} fields; put them into several objects"
    if _has_more(body, b":", MAX_FIELDS):
        read = _read(body)
        managed, status = _count(bytes(read.metadata.managed_fields), b":"), _count(bytes(read.status), b":")
        if max((status,) if large else (managed, _count(body, b":") - managed)) > MAX_FIELDS:
            return f"has more than {MAX_FIELDS} fields; put them into several objects"
    return ""


class _Metadata(Struct, frozen=True, rename="camel"):
    managed_fields: Raw = Raw()


class _Body(Struct, frozen=True):
    metadata: _Metadata = _Metadata()
    status: Raw = Raw()


def _read(body: bytes) -> _Body:
    """Parts of an object that are counted apart. Another text may be a patch of any of them."""
    try:
        return json.decode(body, type=_Body)
    except DecodeError:
        return _Body(status=Raw(body))


def _is_json(body: bytes) -> bool:
    try:
        json.decode(body, type=Raw)
    except DecodeError:
        return False
    except RecursionError:
        pass
    return True


def check_timeout(query: Mapping[str, str]) -> None:
    """Raises: Refused where a request that ends by itself gives itself a time that is none."""
    text = query.get("timeout", "")
    fault = duration_fault(text) if text else ""
    if fault:
        raise bad_request(f"invalid timeout specified in the request URL - {fault}")


def check_stored(value: bytes, before: bytes = b"", *, leaving: bool, large: bool = False) -> None:
    """Raises: Refused for an object that is too large or too deep.

    `leaving`: it is being deleted. `large`: it is of a large resource.

    An object that an earlier version has stored beyond these bounds keeps that version's.
    """
    most = MAX_LARGE_VALUES if large else MAX_VALUES
    bound = MAX_BODY_BYTES if large or len(before) > MAX_STORED_BYTES else MAX_STORED_BYTES
    if len(value) > bound + (LEAVING_BYTES if leaving else 0):
        raise _too_large(
            f"the object would be {len(value)} bytes, and of one at most {bound} bytes are stored, "
            "as by etcd; put its contents into several objects"
        )
    if is_too_deep(value):
        raise bad_request(f"the object would be nested more than {MAX_DEPTH} levels deep")
    if not leaving and has_too_many_values(value, most) and not has_too_many_values(before, most):
        raise bad_request(f"the object would have more than {most} values; put them into several objects")


def too_large(most: int = MAX_BODY_BYTES) -> Refused:
    return _too_large(f"Request entity too large: limit is {most}")


def _too_large(message: str) -> Refused:
    return Refused(Status(message=message, reason="RequestEntityTooLarge", code=413))


def is_too_deep(body: bytes) -> bool:
    """Tells so in time linear in the body; few objects have enough brackets to be looked at."""
    if len(body) <= MAX_DEPTH or body.count(b"[") + body.count(b"{") <= MAX_DEPTH:
        return False
    brackets = _STRINGS.sub(b"", body).translate(None, _NOT_BRACKETS)
    return max(accumulate(map(_STEPS.__getitem__, brackets)), default=0) > MAX_DEPTH


def has_too_many_values(body: bytes, most: int) -> bool:
    """Tells so by the commas, in time linear in the body; few objects have enough of them to be looked at."""
    return _has_more(body, b",", most - 1)


def _has_more(body: bytes, sign: bytes, most: int) -> bool:
    return body.count(sign) > most and _count(body, sign) > most


def _count(body: bytes, sign: bytes) -> int:
    """Number of the signs outside of strings."""
    return _STRINGS.sub(b"", body).count(sign)
