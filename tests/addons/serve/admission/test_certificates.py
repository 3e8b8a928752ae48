"""Certificates that a server makes and uses again."""

import stat
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("cryptography")

from chartkit.addons.serve.admission.certificates import (
    AUTHORITY,
    CERTIFICATE,
    KEY,
    given_certificates,
    made_certificates,
)

NAMES = ("localhost", "127.0.0.1")


def _other(name: str) -> Callable[[Path], object]:
    """Return what puts another server's file in the place of one, as a kill between two leaves."""

    def put(folder: Path) -> None:
        made_certificates(folder / "other", NAMES)
        (folder / "other" / name).replace(folder / name)

    return put


def test_certificates_that_fit_are_used_again(tmp_path: Path) -> None:
    made = made_certificates(tmp_path, NAMES)
    content = made.certificate.read_bytes()
    assert made_certificates(tmp_path, NAMES[:1]) == made
    assert made.certificate.read_bytes() == content
    assert stat.S_IMODE(made.key.stat().st_mode) == 0o600
    given_certificates(made.certificate, made.key, tmp_path / AUTHORITY)


@pytest.mark.parametrize(
    "spoil",
    [
        _other(AUTHORITY),
        _other(CERTIFICATE),
        _other(KEY),
        lambda folder: (folder / KEY).unlink(),
        lambda folder: (folder / KEY).write_text("no PEM"),
        lambda folder: (folder / CERTIFICATE).write_bytes(b""),
        lambda folder: (folder / KEY).chmod(0o644) or (folder / AUTHORITY).unlink(),
    ],
)
def test_what_does_not_fit_together_is_made_anew(
    tmp_path: Path, spoil: Callable[[Path], object]
) -> None:
    before = made_certificates(tmp_path, NAMES).certificate.read_bytes()
    spoil(tmp_path)
    made = made_certificates(tmp_path, NAMES)
    assert made.certificate.read_bytes() != before
    assert stat.S_IMODE(made.key.stat().st_mode) == 0o600
    assert made_certificates(tmp_path, NAMES) == made
    given_certificates(made.certificate, made.key, tmp_path / AUTHORITY)
