"""Certificates to trust."""

from __future__ import annotations

import os
import ssl
from functools import lru_cache
from pathlib import Path
from typing import Final

_KEPT: Final = 8
_BUNDLES: Final = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
_SYSTEM: Final = ("SSL_CERT_FILE", "SSL_CERT_DIR")


def system_trust(authorities: Path | None = None) -> ssl.SSLContext:
    """Return the trust in the system's authorities, those of `SSL_CERT_FILE`, and Mozilla's or,
    in their place, those of `REQUESTS_CA_BUNDLE`; and in a file of the user's besides.

    A company's own authority is mostly known to the system alone.
    """
    bundle = next(filter(None, map(os.environ.get, _BUNDLES)), "")
    return _system_trust(authorities, bundle, *map(os.environ.get, _SYSTEM))


@lru_cache(maxsize=_KEPT)
def _system_trust(authorities: Path | None, bundle: str, *_system: str | None) -> ssl.SSLContext:
    from requests.utils import DEFAULT_CA_BUNDLE_PATH

    context = _strict(ssl.create_default_context())
    bundled = Path(bundle or DEFAULT_CA_BUNDLE_PATH)
    if bundled.is_dir():
        context.load_verify_locations(capath=str(bundled))
    else:
        context.load_verify_locations(cafile=str(bundled))
    if authorities is not None:
        context.load_verify_locations(cafile=str(authorities))
    return context


def trust_in(certificates: bytes) -> ssl.SSLContext:
    """Return the trust in certificates (DER) alone: each is an authority, whoever issued it.

    Raises ssl.SSLError and ValueError for what is none.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.load_verify_locations(cadata=certificates)
    return _strict(context)


def _strict(context: ssl.SSLContext) -> ssl.SSLContext:
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.hostname_checks_common_name = False
    return context
