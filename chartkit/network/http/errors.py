"""Failures of requests: one type for whatever `urllib3`, `http.client` and `ssl` raise."""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Iterator
from enum import Enum
from typing import Final

import urllib3.exceptions

from chartkit.network.http.limits import Limits
from chartkit.network.http.urls import HostPort, Url

_NO_TLS: Final = frozenset(
    ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE")
)
"""OpenSSL's reasons for an answer that is no handshake."""
_SILENT: Final = (TimeoutError, urllib3.exceptions.TimeoutError)
_CUT: Final = (http.client.IncompleteRead, urllib3.exceptions.IncompleteRead, ConnectionResetError)


class Fault(Enum):
    """A kind of failure, with its words for people."""

    UNSENDABLE = "cannot be requested: {detail}"
    FORBIDDEN = "chartkit does not connect to this address"
    UNNAMED = "{detail} is not asked: --allow-network does not name it"
    INSIDE = "redirects to the private address {detail}"
    REDIRECT = "redirects to {detail}"
    DOWNGRADE = "redirects from https to http"
    REDIRECTS = "redirects more than {limits.redirects} times"
    UNREACHABLE = "the server cannot be reached: {detail}"
    SILENT = "the server sent nothing for {limits.silence:g} seconds"
    OVERDUE = "no answer within {limits.patience:g} seconds"
    UNTRUSTED = "the server's certificate is not trusted: {detail}"
    PLAIN = "the server does not speak TLS"
    TLS = "the connection cannot be encrypted: {detail}"
    CUT = "the server cut the answer"
    """`detail` is how many bytes came, if that is known."""
    MALFORMED = "the server does not speak HTTP"
    TOO_LARGE = "the answer is larger than it may be"
    SIZE = "the answer has another size than is expected: {detail}"


_UNANSWERED: Final = frozenset({Fault.UNREACHABLE, Fault.SILENT, Fault.OVERDUE, Fault.TLS})
_PASSING: Final = _UNANSWERED | {Fault.CUT}


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
        return self.fault.value.format(detail=self.detail, limits=limits)

    @property
    def is_passing(self) -> bool:
        """Report whether another attempt may succeed."""
        return self.fault in _PASSING

    @property
    def is_unanswered(self) -> bool:
        """Report whether the server cannot be reached, or sends nothing."""
        return self.fault in _UNANSWERED


class DialError(NetworkError):
    """The host was not reached. is_unknown: whether the name leads nowhere; is_late: whether no
    connection was made in time."""

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
