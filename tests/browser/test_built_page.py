"""The built page: small, whole, and without anything of elsewhere."""

import gzip
import re
import subprocess
import sys
import zipfile
from pathlib import Path

from leeward.dashboard.page_files import COMPRESSED, PAGE_DIRECTORY, read_page
from tests.browser.stand_in import WEB

MOST_BYTES = 150_000
"""Bytes of all files together, compressed."""
NAMESPACES = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml", "http://www.w3.org/1998/Math/MathML"}


def test_the_page_is_small() -> None:
    files = [path for path in PAGE_DIRECTORY.rglob("*") if path.is_file()]
    assert files
    sizes = {path.name: len(gzip.compress(path.read_bytes(), mtime=0)) for path in files}
    assert sum(sizes.values()) < MOST_BYTES, sizes


def test_another_build_has_the_same_bytes(tmp_path: Path) -> None:
    vite = WEB / "node_modules" / ".bin" / "vite"
    command = [str(vite), "build", "--outDir", str(tmp_path), "--emptyOutDir"]
    subprocess.run(command, cwd=WEB, check=True, capture_output=True, timeout=120)
    assert files_in(tmp_path) == files_in(PAGE_DIRECTORY)


def files_in(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_the_page_is_in_the_wheel(tmp_path: Path) -> None:
    root = PAGE_DIRECTORY.parents[3]
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=root, check=True, capture_output=True, timeout=120)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        names = set(packed.namelist())
    files = {f"leeward/dashboard/page{name}" for name in read_page() if name != "/"}
    assert "leeward/dashboard/page/index.html" in files
    assert files <= names


def test_the_page_loads_nothing_of_elsewhere_and_has_nothing_inline() -> None:
    page = read_page()
    index = page["/"].content.decode()
    for name in re.findall(r'(?:src|href)="([^"]+)"', index):
        assert name in page, name
    assert not re.search(r"<script(?![^>]* src=)|<style|\sstyle=|\son\w+=", index)
    for name, file in page.items():
        if name.endswith(COMPRESSED) and file.content_type != "text/plain":  # licences name addresses, and load none
            found = set(re.findall(r"https?://[^\s\"'`)\\]+", file.content.decode()))
            assert found <= NAMESPACES | {each for each in found if each.startswith("https://svelte.dev/e/")}, name
