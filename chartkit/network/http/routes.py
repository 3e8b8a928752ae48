"""Routes of URLs: a URL of the user leads anywhere but to forbidden addresses, a redirect never
from outside into the user's own network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chartkit.network.http.addresses import is_inside, is_loopback, literal
from chartkit.network.http.connections import Dial
from chartkit.network.http.errors import Fault, NetworkError
from chartkit.network.http.urls import Url


@dataclass(frozen=True, slots=True)
class Hop:
    """A URL that was asked, and the way to it."""

    url: Url
    dial: Dial


def anywhere(here: Url, path: Sequence[Hop]) -> Dial:
    """Return the way to a URL; raises NetworkError for a redirect that is not followed.

    To another host a redirect leads to no private address, and to none by a name either, unless
    the host that redirects is in a private network itself.
    """
    if not path or path[0].url.place.host == here.place.host:
        return Dial(here.place)
    if here.authorization:
        raise NetworkError(Fault.REDIRECT, "a URL with a name or password")
    address = literal(here.place.host)
    if is_loopback(here.place.host) or (address is not None and address.is_private):
        raise NetworkError(Fault.INSIDE, here.host)
    first = path[0].dial.reached
    comes_from_outside = first is not None and not is_inside(first)
    return Dial(here.place, outside=comes_from_outside or address is not None)


def encrypted(here: Url, path: Sequence[Hop]) -> Dial:
    """Return the way as `anywhere` does; raises NetworkError for a redirect to plain HTTP, too."""
    if path and here.scheme != "https":
        raise NetworkError(Fault.REDIRECT, here.scheme)
    return anywhere(here, path)
