"""Packed charts (`.tgz`): unpacked here, and packed anew for Helm, so that Helm reads what was
checked."""

from __future__ import annotations

import gzip
import io
import lzma
import posixpath
import tarfile
import zlib
from collections.abc import Mapping
from typing import Final

from chartkit.helm.chart_folder import MOST_BYTES, MOST_FILES
from chartkit.helm.model import ChartError
from chartkit.helm.sandbox.limits import size

_HEADERS: Final = 1024
"""Bytes of an archive that a file takes beyond its content, at most."""


def unpacked(content: bytes, place: str) -> dict[str, bytes]:
    """A packed chart's files, by their path below its one folder; place: for messages. A link in
    the archive is an empty file for Helm; raises ChartError where it leads out."""
    files: dict[str, bytes] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(_inflated(content, place)), mode="r:") as archive:
            for count, member in enumerate(archive, 1):
                if count > MOST_FILES:
                    raise ChartError(f"has more than {MOST_FILES:,} files", place)
                if member.isdir():
                    continue
                _check_link(member, place)
                name = _below(member.name, place)
                reader = archive.extractfile(member) if member.isreg() else None
                files[name] = reader.read() if reader is not None else b""
    except (tarfile.TarError, EOFError, OSError, zlib.error, lzma.LZMAError, ValueError):
        raise ChartError("is no chart in a gzipped archive, or damaged", place) from None
    return files


def packed(files: Mapping[str, bytes], folder: str) -> bytes:
    """An archive with these files in a folder, and nothing else."""
    made = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=made, mode="wb", compresslevel=1, mtime=0) as stream,
        tarfile.open(fileobj=stream, mode="w:") as archive,
    ):
        for name, content in files.items():
            member = tarfile.TarInfo(f"{folder}/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return made.getvalue()


def _inflated(content: bytes, place: str) -> bytes:
    most = MOST_BYTES + MOST_FILES * _HEADERS
    with gzip.GzipFile(fileobj=io.BytesIO(content)) as stream:
        found = stream.read(most + 1)
    if len(found) > most:
        raise ChartError(f"has more than {size(MOST_BYTES)} of files", place)
    return found


def _below(name: str, place: str) -> str:
    """A member's path in the chart, as Helm takes it."""
    _, _, inside = name.replace("\\", "/").partition("/")
    clean = posixpath.normpath(inside)
    if not inside or clean.startswith(("..", "/")) or clean == ".":
        raise ChartError(f"holds '{name}', which is not below the chart's folder", place)
    return clean


def _check_link(member: tarfile.TarInfo, place: str) -> None:
    if not (member.issym() or member.islnk()):
        return
    start = posixpath.dirname(member.name) if member.issym() else ""
    target = posixpath.normpath(posixpath.join(start, member.linkname))
    inside = posixpath.normpath(member.name).partition("/")[0]
    if target.startswith(("/", "..")) or target.partition("/")[0] != inside:
        text = f"holds the link '{member.name}', which leads out of the chart, to {member.linkname}"
        raise ChartError(text, place)
