"""Failures of requests: one type for whatever `urllib3`, `http.client` and `ssl` raise."""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Iterator
from enum import Enum, auto
from typing import Final

import urllib3.exceptions

from chartkit.network.http.limits import Limits
from chartkit.network.http.urls import HostPort, Url

_NO_TLS: Final = frozenset(
    ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE")
)
"""OpenSSL's reasons for an answer that is no handshake."""
_SILENT: Final = (TimeoutError, urllib3.exceptions.TimeoutError)
_CUT: Final = (
    http.client.IncompleteRead,
    urllib3.exceptions.IncompleteRead,
    http.client.RemoteDisconnected,
)


class Fault(Enum):
    """A kind of failure; what `detail` of a NetworkError holds stands in parentheses."""

    UNSENDABLE = auto()
    """No request can be made of it (the reason)."""
    FORBIDDEN = auto()
    """The address is never asked."""
    UNNAMED = auto()
    """The user does not name the host (which)."""
    INSIDE = auto()
    """A redirect leads into a private network (the host)."""
    REDIRECT = auto()
    """A redirect that is not followed (where it leads)."""
    DOWNGRADE = auto()
    """A redirect that gives up encryption."""
    REDIRECTS = auto()
    """More redirects than are followed."""
    UNREACHABLE = auto()
    """The host was not reached (in the system's words)."""
    SILENT = auto()
    """Nothing came in time."""
    OVERDUE = auto()
    """The whole answer did not come in time."""
    UNTRUSTED = auto()
    """The certificate is not trusted (OpenSSL's words)."""
    PLAIN = auto()
    """The server does not speak TLS (OpenSSL's reason)."""
    TLS = auto()
    """The connection could not be encrypted (OpenSSL's reason)."""
    CUT = auto()
    """The answer ended early (how many bytes came, where that is known)."""
    RESET = auto()
    """The connection was reset."""
    MALFORMED = auto()
    """The answer is not an HTTP."""
    TOO_LARGE = auto()
    """The answer is larger than it may be."""
    SIZE = auto()
    """The announced size is another than the expected one (the announced one)."""


_UNANSWERED: Final = frozenset({Fault.UNREACHABLE, Fault.SILENT, Fault.OVERDUE, Fault.TLS})
_PASSING: Final = _UNANSWERED | {Fault.CUT, Fault.RESET}


class NetworkError(Exception):
    """A request without an answer.

    url: the URL that failed; target: where it redirects to, if that is what failed; cause: what was
    raised, if anything; attempts: how often the server was asked.
    """

    def __init__(self, fault: Fault, detail: str = "", cause: BaseException | None = None) -> None:
        super().__init__(fault, detail)
        self.fault = fault
        self.detail = detail
        self.cause = cause
        self.url: Url | None = None
        self.target = ""
        self.attempts = 1

    def words(self, limits: Limits) -> str:
        """Describe the error for people."""
        return {
            Fault.UNSENDABLE: f"cannot be requested: {self.detail}",
            Fault.FORBIDDEN: "chartkit does not connect to this address",
            Fault.UNNAMED: f"{self.detail} is not asked: --allow-network does not name it",
            Fault.INSIDE: f"redirects to the private address {self.detail}",
            Fault.REDIRECT: f"redirects to {self.detail}",
            Fault.DOWNGRADE: "redirects from https to http",
            Fault.REDIRECTS: f"redirects more than {limits.redirects} times",
            Fault.SILENT: f"the server sent nothing for {limits.silence:g} seconds",
            Fault.OVERDUE: f"no answer within {limits.patience:g} seconds",
            Fault.UNTRUSTED: f"the server's certificate is not trusted: {self.detail}",
            Fault.PLAIN: "the server does not speak TLS",
            Fault.TLS: f"the connection cannot be encrypted: {self.detail}",
            Fault.CUT: "the server cut the answer",
            Fault.RESET: "the server cut the answer",
            Fault.MALFORMED: "the server does not speak HTTP",
        }.get(self.fault, f"the server cannot be reached: {self.detail}")

    @property
    def is_passing(self) -> bool:
        """Report whether another attempt may succeed."""
        return self.fault in _PASSING

    @property
    def is_unanswered(self) -> bool:
        """Report whether the server cannot be reached, or sends nothing."""
        return self.fault in _UNANSWERED


class DialError(NetworkError):
    """The host was not reached.

    is_unknown: whether the name leads nowhere; is_late: whether no connection was made in time.
    """

    def __init__(
        self, host_port: HostPort, error: OSError | UnicodeError, is_unknown: bool = False
    ) -> None:
        self.is_unknown = is_unknown
        self.is_late = isinstance(error, TimeoutError)
        why = "no connection in time" if self.is_late else reason(error)
        is_name = not isinstance(error, UnicodeError)
        super().__init__(Fault.UNREACHABLE if is_name else Fault.UNSENDABLE, why, error)
        self.host_port = host_port


def failure(error: BaseException) -> NetworkError:
    """Return the failure behind an exception, which libraries wrap in one another."""
    for cause in _causes(error):
        if isinstance(cause, NetworkError):
            network_error: NetworkError | None = cause
        elif isinstance(cause, ssl.SSLCertVerificationError):
            network_error = NetworkError(Fault.UNTRUSTED, cause.verify_message, cause)
        elif isinstance(cause, ssl.SSLError) and not isinstance(cause, TimeoutError):
            fault = Fault.PLAIN if cause.reason in _NO_TLS else Fault.TLS
            network_error = NetworkError(fault, cause.reason or "", cause)
        elif isinstance(cause, _SILENT):
            network_error = NetworkError(Fault.SILENT, "", cause)
        elif isinstance(cause, _CUT):
            partial = getattr(cause, "partial", None)
            network_error = NetworkError(
                Fault.CUT, f"{partial:,}" if isinstance(partial, int) else "", cause
            )
        elif isinstance(cause, ConnectionResetError):
            network_error = NetworkError(Fault.RESET, "", cause)
        elif isinstance(cause, http.client.HTTPException | urllib3.exceptions.InvalidHeader):
            network_error = NetworkError(Fault.MALFORMED, "", cause)
        else:
            network_error = None
        if network_error is not None:
            return network_error
    if isinstance(error, ValueError):
        return NetworkError(Fault.UNSENDABLE, " ".join(str(error).split()), error)
    return NetworkError(Fault.UNREACHABLE, reason(error), error)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and its causes, the outermost first."""
    seen: set[int] = set()
    waiting = [error]
    while waiting:
        cause = waiting.pop(0)
        if id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        inner = (*cause.args, getattr(cause, "reason", None), cause.__cause__, cause.__context__)
        waiting += [other for other in inner if isinstance(other, BaseException)]


def reason(error: BaseException) -> str:
    """Return why a server cannot be reached, in the system's words where it has any."""
    said = [
        cause.strerror for cause in _causes(error) if isinstance(cause, OSError) and cause.strerror
    ]
    return said[-1] if said else type(error).__name__
