"""Addresses of electronic mail in schemas: one mailbox of RFC 5322, with a name or without, or a group of one.

Go: net/mail, ParseAddress; the same texts, but for names in other encodings than UTF-8, which are not decoded here.
"""

import ipaddress
import re

_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~\x80-\U0010ffff-]+"
_DOTS = rf"{_ATOM}(?:\.{_ATOM})*"
_QUOTED = r'"(?:[^"\\\x00-\x08\x0a-\x1f\x7f]|\\[\t\x20-\x7e\x80-\U0010ffff])*"'
_BLANK = r"(?:[ \t]|\((?:[^()\\]|\\.)*\))*"
_SPEC = rf"(?:{_DOTS}|{_QUOTED}){_BLANK}@{_BLANK}(?:{_DOTS}|\[(?P<literal>[^\[\]\\]*)\])"
_PHRASE = rf"(?:(?:{_ATOM}(?:\.+{_ATOM})*\.*|{_QUOTED}){_BLANK})+"
_PLAIN = re.compile(rf"{_BLANK}{_SPEC}{_BLANK}")
_NAMED = re.compile(rf"{_BLANK}(?:{_PHRASE})?<{_BLANK}{_SPEC}{_BLANK}>{_BLANK}")
_GROUP = re.compile(rf"{_BLANK}{_PHRASE}:(.*);{_BLANK}", re.DOTALL)


def read_mailbox(text: str) -> None:
    """Raises: ValueError for what is no mailbox."""
    group = _GROUP.fullmatch(text)
    inner = group[1] if group else text
    found = _PLAIN.fullmatch(inner) or _NAMED.fullmatch(inner)
    if found is None:
        raise ValueError("must be an address of mail")
    if found["literal"] is not None:
        ipaddress.ip_address(found["literal"].removeprefix("IPv6:"))
