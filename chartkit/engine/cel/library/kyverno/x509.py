"""`kyverno.x509`: RSA certificates and signing requests."""

from __future__ import annotations

from typing import Final

from chartkit.engine.cel.declarations import Library, declared, overload
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library.printing import doubles
from chartkit.engine.cel.values import Value
from chartkit.errors import Reraise
from chartkit.go.strconv import wrapped
from chartkit.go.x509 import CERTIFICATE, CertificateError, decode_pem
from chartkit.model import Body

_LEFT_OUT: Final = frozenset(
    {
        *("InhibitAnyPolicy", "InhibitAnyPolicyZero", "InhibitPolicyMapping"),
        *("InhibitPolicyMappingZero", "Policies", "PolicyMappings", "RequireExplicitPolicy"),
        *("RequireExplicitPolicyZero", "SignatureAlgorithm", "Subject", "SubjectKeyId"),
        *("URIs", "UnhandledCriticalExtensions", "UnknownExtKeyUsage", "Version"),
    }
)
"""Fields of Go's certificate that Kyverno does not hand on."""


@overload("x509_decode_string: x509.decode(string) -> dyn")
def decode(text: str) -> Value:
    with Reraise("", CertificateError, CelError):
        kind, fields = decode_pem(text)
    return doubles(_certificate(fields) if kind == CERTIFICATE else fields)


def _certificate(fields: Body) -> Body:
    kept = {name: value for name, value in fields.items() if name not in _LEFT_OUT}
    # Kyverno takes the serial number's lowest 64 bits, whatever its length.
    kept["SerialNumber"] = wrapped(fields["SerialNumber"])
    return kept


LIBRARY = Library("kyverno.x509", overloads=declared(globals()))
