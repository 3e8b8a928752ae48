"""Proxies and passwords of the environment, as `requests` and `curl` take them."""

from __future__ import annotations

import ssl

from urllib3 import ProxyManager

from chartkit.network.http.addresses import is_loopback
from chartkit.network.http.urls import Url, basic_authorization


def proxy_of(url: Url) -> str:
    """Return the URL of the environment's proxy for a URL; empty for none, and for this machine."""
    if is_loopback(url.place.host):
        return ""
    from requests.utils import get_environ_proxies, select_proxy

    found = select_proxy(url.text, get_environ_proxies(url.text)) or ""
    return found if not found or "://" in found else f"http://{found}"


def through(proxy: str, trust: ssl.SSLContext) -> ProxyManager:
    """Return connections through a proxy, which resolves names by itself; raises ValueError for a
    proxy that is none."""
    from requests.utils import get_auth_from_url

    name, password = get_auth_from_url(proxy)
    sent = {"Proxy-Authorization": basic_authorization(f"{name}:{password}")} if name else {}
    return ProxyManager(proxy, proxy_headers=sent, ssl_context=trust, proxy_ssl_context=trust)


def login_of(url: Url) -> str:
    """Return the Authorization header that `~/.netrc` has for a URL's host; empty for none."""
    from requests.utils import get_netrc_auth

    found = get_netrc_auth(url.text)
    return basic_authorization(":".join(found)) if found else ""
