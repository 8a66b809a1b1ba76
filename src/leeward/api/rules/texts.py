"""Rules for single texts: what is wrong with a name, label or pointer, as a sentence; empty when nothing is.

Source of the rules: apimachinery's `util/validation`, RFC 6901, RFC 3986.
"""

import re

CLUSTER_NAME_LENGTH = 48

_NAME = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_DNS_SUBDOMAIN = re.compile(rf"{_DNS_LABEL.pattern}(\.{_DNS_LABEL.pattern})*")
_NAME_RULE = "letters, digits, '-', '_' and '.', starting and ending with a letter or digit"


def qualified_name_fault(text: str) -> str:
    """Keys of labels, annotations and taints: a name of up to 63 characters, with a DNS prefix or without."""
    prefix, slash, name = text.rpartition("/")
    if slash and (len(prefix) > 253 or not _DNS_SUBDOMAIN.fullmatch(prefix)):
        return "the part before '/' must be a DNS subdomain in lower case, as in example.com/name"
    if len(name) > 63 or not _NAME.fullmatch(name):
        return f"must be 1 to 63 characters of {_NAME_RULE}, with an optional prefix as in example.com/name"
    return ""


def label_value_fault(text: str) -> str:
    if not text or (len(text) <= 63 and _NAME.fullmatch(text)):
        return ""
    return f"must be empty, or up to 63 characters of {_NAME_RULE}"


def cluster_name_fault(text: str) -> str:
    """A cluster's name becomes part of a namespace's name, so it must be short. Karmada: pkg/util/validation."""
    if len(text) > CLUSTER_NAME_LENGTH:
        return f"must be no more than {CLUSTER_NAME_LENGTH} characters"
    if not _DNS_LABEL.fullmatch(text):
        return "must be lower case letters, digits and '-', starting and ending with a letter or digit"
    return ""


def json_pointer_fault(text: str) -> str:
    if text and not text.startswith("/"):
        return f"must be a JSON pointer: empty, or starting with '/', as in /{text}"
    return "" if re.fullmatch(r"([^~]|~[01])*", text) else "'~' in a JSON pointer must be written ~0, and '/' ~1"
