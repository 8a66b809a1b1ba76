"""Addresses of electronic mail in schemas: one mailbox of RFC 5322, with a name or without, or a group of one.

Go: net/mail, ParseAddress; the same texts, but for names in other encodings than UTF-8, which are not decoded here.
RE2 matches in a time that grows with the text alone, whatever the text is.
"""

import ipaddress

from kubeserver.go_patterns import Pattern

_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~\x80-\x{10ffff}-]+"
_DOTS = rf"{_ATOM}(?:\.{_ATOM})*"
_QUOTED = r'"(?:[^"\\\x00-\x08\x0a-\x1f\x7f]|\\[\t\x20-\x7e\x80-\x{10ffff}])*"'
_BLANK = r"(?:[ \t]|\((?:[^()\\]|\\.)*\))*"
_LITERAL = rf"@{_BLANK}\[[^\[\]\\]*\]"
_SPEC = rf"(?:{_DOTS}|{_QUOTED}){_BLANK}(?:@{_BLANK}{_DOTS}|{_LITERAL})"
_PHRASE = rf"(?:(?:{_ATOM}(?:\.+{_ATOM})*\.*|{_QUOTED}){_BLANK})+"
_MAILBOX = rf"(?:{_BLANK}{_SPEC}{_BLANK}|{_BLANK}(?:{_PHRASE})?<{_BLANK}{_SPEC}{_BLANK}>{_BLANK})"
_ADDRESS = Pattern(rf"\A(?:{_MAILBOX}|{_BLANK}{_PHRASE}:{_MAILBOX};{_BLANK})\z")
_LITERALS = Pattern(_LITERAL)


def read_mailbox(text: str) -> None:
    """Raises: ValueError for what is no mailbox."""
    if not _ADDRESS.matches(text):
        raise ValueError("must be an address of mail")
    for literal in _LITERALS.find_all(text)[-1:]:
        ipaddress.ip_address(literal.rpartition("[")[2].removesuffix("]").removeprefix("IPv6:"))
