"""`x509_decode`: certificates and signing requests as Go's `crypto/x509` shows them in JSON."""

from __future__ import annotations

from chartkit.engine.jmespath.declaration import function
from chartkit.engine.jmespath.errors import FunctionError
from chartkit.go.x509.certificates import CERTIFICATE, decode_pem
from chartkit.model import Body


@function(
    "x509_decode(string) object",
    'x509_decode(base64_decode(request.object.data."tls.crt")).Subject.CommonName',
)
def x509_decode(text: str) -> Body:
    """The fields of an RSA certificate or certificate request in PEM."""
    kind, fields = decode_pem(text)
    if kind == CERTIFICATE:
        fields["SerialNumber"] = _serial_number(fields["SerialNumber"])
    return fields


def _serial_number(number: int) -> float:
    try:
        return float(number)
    except OverflowError:
        message = f"json: cannot unmarshal number {number} into Go value of type float64"
        raise FunctionError(message) from None
