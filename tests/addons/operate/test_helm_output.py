"""What the program `helm` writes may have been sent by anyone."""

from __future__ import annotations

import sys

import pytest

from chartkit.addons.operate.publish import registry
from chartkit.errors import ChartkitError

_BYTES = r"import sys; sys.stderr.buffer.write(b'denied \xff\xfe'); sys.exit(1)"


def test_output_that_is_not_utf_8() -> None:
    with pytest.raises(ChartkitError, match="denied \ufffd\ufffd"):
        registry._run([sys.executable, "-c", _BYTES])
