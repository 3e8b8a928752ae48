"""Provenance files of packed charts (`.prov`), which `helm verify` checks: the chart's metadata and
the archive's digest, signed with an OpenPGP key (https://helm.sh/docs/topics/provenance/)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from chartkit.addons.operate.publish.archives import ChartArchive
from chartkit.documents.input_files import read_bytes, read_text
from chartkit.errors import InputError
from chartkit.model import Location

if TYPE_CHECKING:
    from pysequoia import PySigner

_LARGEST: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Key:
    """A secret OpenPGP key in a file, and the file of its passphrase."""

    file: Path
    passphrase: Path | None = None


def sign(archives: tuple[ChartArchive, ...], key: Key) -> tuple[ChartArchive, ...]:
    """Return the archives with their provenance; raise InputError for a key that cannot sign."""
    try:
        import pysequoia
    except ImportError:
        hint = "pip install '.[provenance]' where chartkit's source is"
        raise InputError("signing needs pysequoia, which is not installed", hint=hint) from None
    signer = _signer(key)
    signed = []
    for each in archives:
        text = f"{each.metadata.rstrip()}\n\n...\nfiles:\n  {each.file}: {each.digest}\n"
        mode = pysequoia.SignatureMode.CLEAR
        signed.append(replace(each, provenance=pysequoia.sign(signer, text.encode(), mode=mode)))
    return tuple(signed)


def _signer(key: Key) -> PySigner:
    import pysequoia

    place = Location(str(key.file))
    content = read_bytes(key.file, _LARGEST)
    passphrase = read_text(key.passphrase).rstrip("\r\n") if key.passphrase else None
    try:
        secret = pysequoia.Tsk.from_bytes(content)
    except RuntimeError as error:
        hint = "export one by `gpg --export-secret-keys NAME`"
        raise InputError(f"is not a secret OpenPGP key: {_reason(error)}", place, hint) from None
    try:
        return secret.signer(passphrase)
    except RuntimeError as error:
        missing = None if key.passphrase else "name its passphrase's file by --passphrase-file"
        raise InputError(f"cannot sign: {_reason(error)}", place, missing) from None


def _reason(error: RuntimeError) -> str:
    """Return the first line: the library adds a stack of its own."""
    return str(error).partition("\n")[0]
