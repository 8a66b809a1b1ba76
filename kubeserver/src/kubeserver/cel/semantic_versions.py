"""Semantic versions, as semver.org has them, with what Kubernetes reads beyond that.

Kubernetes: apiserver/pkg/cel/library/semverlib.go; what was built how counts nothing, and `v1.02` can be read, too.
"""

import re

from semver import Version

LONGEST = 256
_LARGEST = 2**63 - 1
_LENIENT = re.compile(r"v?(\d+)(?:\.(\d+))?(?:\.(\d+))?([-+].*)?", re.ASCII)


def parse_version(text: str, normalized: bool = False) -> Version:
    """The version without what is said of its build. `normalized`: `v1.02` is read as `1.2.0`. Raises: ValueError."""
    if len(text) > LONGEST:
        raise ValueError(f"a version is at most {LONGEST} letters long")
    version = Version.parse(_normalized(text) if normalized else text).replace(build=None)
    if max(version.major, version.minor, version.patch) > _LARGEST:
        raise ValueError(f"{text!r}: a number of a version is at most {_LARGEST}")
    return version


def _normalized(text: str) -> str:
    found = _LENIENT.fullmatch(text)
    if found is None:
        return text
    return ".".join(str(int(part or 0)) for part in found.groups()[:3]) + (found[4] or "")
