"""The built page: its files, read once, with the headers that they are served with.

Names of assets hold what is in them, so that a browser may keep them for ever; the page itself is asked for each time.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

PAGE_DIRECTORY = Path(__file__).parent / "page"
INDEX = "index.html"
NOT_BUILT = "the page of the dashboard is not built: `make page` builds it (it needs Node 20); a wheel brings it along"
CONTENT_TYPES: Mapping[str, str] = {
    ".css": "text/css",
    ".html": "text/html",
    ".ico": "image/x-icon",
    ".js": "text/javascript",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
    ".webmanifest": "application/manifest+json",
}
COMPRESSED = (".css", ".html", ".js", ".json", ".svg", ".txt")


class PageFile(NamedTuple):
    """`gzipped` is empty for what is not worth it."""

    content: bytes
    gzipped: bytes
    content_type: str
    cache_control: str


def read_page(directory: Path = PAGE_DIRECTORY) -> Mapping[str, PageFile]:
    """Files by their path in a URL, `/` for the page itself; nothing where it is not built."""
    if not (directory / INDEX).is_file():
        return {}
    found = (path for path in sorted(directory.rglob("*")) if path.is_file() and path.suffix in CONTENT_TYPES)
    files = {f"/{path.relative_to(directory).as_posix()}": _file(path, directory) for path in found}
    return {**files, "/": files[f"/{INDEX}"]}


def _file(path: Path, directory: Path) -> PageFile:
    import gzip

    content = path.read_bytes()
    is_kept = path.relative_to(directory).parts[0] == "assets"
    return PageFile(
        content,
        gzip.compress(content, mtime=0) if path.suffix in COMPRESSED else b"",
        CONTENT_TYPES[path.suffix],
        "public, max-age=31536000, immutable" if is_kept else "no-cache",
    )
