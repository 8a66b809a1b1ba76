"""The built page: small, whole, and without anything of elsewhere."""

import gzip
import re

from leeward.dashboard.page_files import COMPRESSED, PAGE_DIRECTORY, read_page

MOST_BYTES = 150_000
"""Of all files together, compressed."""
NAMESPACES = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml", "http://www.w3.org/1998/Math/MathML"}


def test_the_page_is_small() -> None:
    files = [path for path in PAGE_DIRECTORY.rglob("*") if path.is_file()]
    assert files
    sizes = {path.name: len(gzip.compress(path.read_bytes(), mtime=0)) for path in files}
    assert sum(sizes.values()) < MOST_BYTES, sizes


def test_the_page_loads_nothing_of_elsewhere_and_has_nothing_inline() -> None:
    page = read_page()
    index = page["/"].content.decode()
    for name in re.findall(r'(?:src|href)="([^"]+)"', index):
        assert name in page, name
    assert not re.search(r"<script(?![^>]* src=)|<style|\sstyle=|\son\w+=", index)
    for name, file in page.items():
        if name.endswith(COMPRESSED):
            found = set(re.findall(r"https?://[^\s\"'`)\\]+", file.content.decode()))
            assert found <= NAMESPACES | {each for each in found if each.startswith("https://svelte.dev/e/")}, name
