"""Rules for URLs of servers and proxies: the fault of one, as a sentence; empty when it has none."""

from urllib.parse import SplitResult, urlsplit


def endpoint_fault(text: str) -> str:
    """The address of an API server: scheme and host, with a path at most."""
    url = split_url(text)
    if url is None or not url.scheme or not url.hostname:
        return "must be a URL with scheme and host, as in https://host:6443"
    if url.username is not None or url.query or url.fragment:
        return "must have no user, query or fragment, only scheme, host, port and path"
    return ""


def proxy_fault(text: str) -> str:
    url = split_url(text)
    if url is None or url.scheme not in ("http", "https", "socks5"):
        return "must be a URL with the scheme http, https or socks5, as in http://proxy:3128"
    return ""


def proxy_scheme_fault(proxy: str) -> str:
    """The reason why `proxy` cannot be gone through; empty when it can."""
    url = split_url(proxy)
    if url is None or url.scheme != "socks5":
        return ""
    return "socks5 proxies are not supported: give an HTTP proxy that leads there, as in http://proxy:3128"


def split_url(text: str) -> SplitResult | None:
    """None for what is no URL."""
    try:
        url = urlsplit(text)
        _ = url.port
    except ValueError:
        return None
    return url
