"""A certificate that nobody else has signed, for servers of the tests on 127.0.0.1."""

import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

_SELF_SIGNED: Final = (
    "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
    "-subj /CN=test -addext subjectAltName=IP:127.0.0.1"
)


def self_signed(folder: Path) -> Path:
    """A file with the certificate and its key; skips the test where openssl is not here."""
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("openssl is not here")
    key, crt, both = folder / "key.pem", folder / "crt.pem", folder / "both.pem"
    subprocess.run(
        [program, *_SELF_SIGNED.split(), "-keyout", str(key), "-out", str(crt)],
        check=True,
        capture_output=True,
    )
    both.write_bytes(crt.read_bytes() + key.read_bytes())
    return both
