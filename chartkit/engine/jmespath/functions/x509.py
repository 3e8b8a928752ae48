"""`x509_decode`: certificates and signing requests as Go's `crypto/x509` shows them in JSON."""

from __future__ import annotations

import base64
import binascii
import re

from chartkit.engine.jmespath.declaration import OBJECT, STRING, FunctionSpec, function
from chartkit.engine.jmespath.errors import FunctionError
from chartkit.engine.jmespath.functions.certificates import (
    AlgorithmError,
    decode_certificate,
    decode_request,
)
from chartkit.engine.values.der import DerError
from chartkit.model import Body

_PEM = re.compile(
    r"^-----BEGIN (?P<type>[^\n]*?)-----[ \t\r]*\n(?P<body>.*?)^-----END (?P=type)-----[ \t\r]*$",
    re.MULTILINE | re.DOTALL,
)
_HEADERS = re.compile(r"\A(?:[^\n:]+:[^\n]*\n)+\s*\n")
_DECODERS = {"CERTIFICATE": decode_certificate, "CERTIFICATE REQUEST": decode_request}


@function(
    "x509_decode",
    STRING,
    returns=OBJECT,
    doc="The fields of an RSA certificate or certificate request in PEM.",
    example='x509_decode(base64_decode(request.object.data."tls.crt")).Subject.CommonName',
)
def x509_decode(text: str) -> Body:
    kind, data = _pem_block(text)
    decode = _DECODERS.get(kind)
    if decode is None:
        message = "PEM block neither contains a CERTIFICATE or CERTIFICATE REQUEST"
        raise FunctionError(message)
    try:
        return decode(data)
    except (DerError, AlgorithmError) as error:
        raise FunctionError(str(error)) from error


def _pem_block(text: str) -> tuple[str, bytes]:
    for match in _PEM.finditer(text):
        body = _HEADERS.sub("", match["body"])
        try:
            return match["type"], base64.b64decode("".join(body.split()), validate=True)
        except binascii.Error:
            continue
    raise FunctionError("failed to decode PEM block")


FUNCTIONS: tuple[FunctionSpec, ...] = (x509_decode,)
