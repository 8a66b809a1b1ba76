"""Differences among the versions of kube-apiserver that the suite runs on, by minor version.

Where its answers to recorded conversations differ, the recording says so (`differs`, `test_contract.py`).
"""

from typing import NamedTuple


class Dialect(NamedTuple):
    """Words and ways of a server that a test has to know; the defaults are those of the newest."""

    has_insecure_port: bool = False
    """The controller manager has a port without TLS, which is to be switched off."""
    redirect: str = "the backend attempted to redirect this request, which is not permitted"
    """Words with which a request ends whose backend (an extension API server) answers with a redirect."""


PASSED_ON = "has answered with a redirect (HTTP 302)"
"""Words of the cluster proxy: the server has passed the redirect on."""
_DIALECTS = (
    (24, Dialect(has_insecure_port=True, redirect=PASSED_ON)),
    (25, Dialect(redirect=PASSED_ON)),
)
"""Dialects, each of the versions before a minor one.

- 24: kube-controller-manager loses `--port`.
- 25: kube-apiserver keeps redirects of extension API servers to itself (CVE-2022-3172).
"""


def dialect_of(version: str) -> Dialect:
    """Dialect of a version, such as 1.20.2."""
    minor = int(version.split(".")[1])
    return next((dialect for before, dialect in _DIALECTS if minor < before), Dialect())
