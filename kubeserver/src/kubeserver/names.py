"""Names that objects, labels and annotations may have. Each rule returns what is wrong with a text, or nothing."""

import re
from collections.abc import Callable

NameRule = Callable[[str], list[str]]
"""The messages for a name; empty when it is valid."""

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_LABEL_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_QUALIFIED = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")

_USED = "regex used for validation is"
_LABEL_MESSAGE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end "
    f"with an alphanumeric character (e.g. 'my-name',  or '123-abc', {_USED} '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_LABEL_1035_MESSAGE = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character "
    f"(e.g. 'my-name',  or 'abc-123', {_USED} '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_SUBDOMAIN_MESSAGE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
    f"and end with an alphanumeric character (e.g. 'example.com', {_USED} "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_VALUE_MESSAGE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start "
    f"and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', {_USED} "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_QUALIFIED_MESSAGE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    f"character (e.g. 'MyName',  or 'my.name',  or '123-abc', {_USED} "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)


def dns_subdomain(name: str) -> list[str]:
    return [*_too_long(name, 253), *_unless(_SUBDOMAIN.fullmatch(name), _SUBDOMAIN_MESSAGE)]


def dns_label(name: str) -> list[str]:
    said = "must not contain dots" if _SUBDOMAIN.fullmatch(name) else _LABEL_MESSAGE
    return [*_too_long(name, 63), *_unless(_LABEL.fullmatch(name), said)]


def dns_1035_label(name: str) -> list[str]:
    return [*_too_long(name, 63), *_unless(_LABEL_1035.fullmatch(name), _LABEL_1035_MESSAGE)]


def path_segment(name: str) -> list[str]:
    """The rule for kinds whose names are free, such as ClusterRoles: what a URL can carry."""
    if name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{character}'" for character in "/%" if character in name]


def label_value(value: str) -> list[str]:
    if len(value) > 63:
        return ["must be no more than 63 bytes"]
    return _unless(_VALUE.fullmatch(value), _VALUE_MESSAGE)


def qualified_name(name: str) -> list[str]:
    """The rule for keys of labels, annotations and finalizers: `[prefix/]name`."""
    prefix, slash, rest = name.rpartition("/")
    if slash and "/" in prefix:
        return [
            "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with "
            "an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
            "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' "
            "(e.g. 'example.com/MyName')"
        ]
    problems = [f"prefix part {message}" for message in dns_subdomain(prefix)] if slash and prefix else []
    if slash and not prefix:
        problems.append("prefix part must be non-empty")
    if not rest:
        problems.append("name part must be non-empty")
    if len(rest) > 63:
        problems.append("name part must be no more than 63 bytes")
    return [*problems, *_unless(_QUALIFIED.fullmatch(rest), _QUALIFIED_MESSAGE)]


def _too_long(name: str, limit: int) -> list[str]:
    return [f"must be no more than {limit} characters"] if len(name) > limit else []


def _unless(valid: object, message: str) -> list[str]:
    return [] if valid else [message]
