"""Packages that the image and the page bring along: their licences, and versions that are none with a known fault."""

import json
import re
from collections.abc import Mapping
from importlib.metadata import metadata, version
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
IMAGE = ROOT / "deploy" / "requirements.txt"
LOCK = ROOT / "requirements.lock"
PAGE = ROOT / "web" / "package-lock.json"
PERMISSIVE = frozenset(
    ("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MIT-0", "PSF-2.0", "Zlib")
)
"""Licences that ask for no more than their text."""
TOLD_OTHERWISE = {
    "Apache 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
    "MIT style": "MIT",
    "Python Software Foundation License": "PSF-2.0",
}
TOOLS_ALONE = {"node_modules/axe-core": "MPL-2.0"}
"""Packages of the page's tests that no built page has."""
FIXED_IN: Mapping[str, tuple[str, str]] = {
    "aiohttp": ("3.13.4", "CVE-2026-22815: headers and trailers take memory without bound"),
    "cryptography": ("46.0.5", "CVE-2026-26007: public keys outside of the curve's subgroup are taken"),
    "grpcio": ("1.53.2", "CVE-2023-33953: headers without end"),
    "idna": ("3.7", "CVE-2024-3651: a name takes the square of its length"),
    "pyjwt": ("2.10.1", "CVE-2024-53861: a part of an issuer counts as the issuer"),
    "pyyaml": ("5.4", "CVE-2020-14343: a document runs code"),
}
"""First version without a fault that became known, and the fault."""
FIXED_IN_PAGE: Mapping[str, tuple[str, str]] = {
    "vite": ("7.3.6", "CVE-2026-53571: the server serves files that are denied"),
    "svelte": ("4.2.19", "CVE-2024-45047: markup in an attribute runs"),
    "rollup": ("4.22.4", "CVE-2024-47068: markup takes the place of a built script's address"),
}


def locked(path: Path) -> list[tuple[str, str]]:
    """Packages with their versions; one may have two for different Pythons."""
    return re.findall(r"^([\w.-]+)==([\w.]+)", path.read_text(), re.MULTILINE)


def of_page() -> Mapping[str, Mapping[str, str]]:
    packages: dict[str, dict[str, str]] = json.loads(PAGE.read_text())["packages"]
    return {name: each for name, each in packages.items() if name}


def licences(name: str) -> set[str]:
    """Licences that an installed package tells."""
    told = metadata(name)
    classified = [each.rpartition(" :: ")[2] for each in told.get_all("Classifier") or [] if "License ::" in each]
    texts = [told["License-Expression"]] if told["License-Expression"] else classified or [told["License"]]
    parts = [part for text in texts for part in re.split(r" AND | OR ", text or "none")]
    return {TOLD_OTHERWISE.get(part, part) for part in parts}


def numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text))


def test_what_the_image_installs_has_licences_that_allow_it() -> None:
    names = sorted({name for name, _ in locked(IMAGE)})
    assert len(names) > 20
    assert {name: licences(name) - PERMISSIVE for name in names if licences(name) - PERMISSIVE} == {}


def test_what_the_page_is_built_of_has_licences_that_allow_it() -> None:
    others = {name: each.get("license", "none") for name, each in of_page().items()}
    assert {name: told for name, told in others.items() if told not in PERMISSIVE} == TOOLS_ALONE
    sources = [path.read_text() for path in (ROOT / "web" / "src").rglob("*") if path.is_file()]
    assert not [name for name in TOOLS_ALONE for text in sources if name.rpartition("/")[2] in text]


def test_the_image_installs_the_versions_that_are_tested_here() -> None:
    tested = {*locked(LOCK)}
    assert {*locked(IMAGE)} <= tested
    versions: dict[str, set[str]] = {}
    for name, each in locked(IMAGE):
        versions.setdefault(name, set()).add(each)
    assert {name: version(name) for name, known in versions.items() if version(name) not in known} == {}


@pytest.mark.parametrize("name", FIXED_IN)
def test_no_version_of_the_image_is_older_than_the_mend_of_a_known_fault(name: str) -> None:
    least, why = FIXED_IN[name]
    found = [numbers(each) for other, each in locked(IMAGE) if other == name]
    assert found, f"{name} is not installed any more: take it from the list"
    assert min(found) >= numbers(least), why


@pytest.mark.parametrize("name", FIXED_IN_PAGE)
def test_no_version_of_the_page_is_older_than_the_mend_of_a_known_fault(name: str) -> None:
    least, why = FIXED_IN_PAGE[name]
    assert numbers(of_page()[f"node_modules/{name}"]["version"]) >= numbers(least), why
