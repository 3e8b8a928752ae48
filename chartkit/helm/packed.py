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


def unpacked(content: bytes, file: str) -> dict[str, bytes]:
    """Return a packed chart's files, by their path below its one folder. A link in the archive is
    an empty file for Helm; raise ChartError where it leads out. file: for messages."""
    files: dict[str, bytes] = {}
    most = MOST_BYTES + MOST_FILES * _HEADERS
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as stream:
            inflated = stream.read(most + 1)
        if len(inflated) > most:
            raise ChartError(f"has more than {size(MOST_BYTES)} of files", file)
        with tarfile.open(fileobj=io.BytesIO(inflated), mode="r:") as archive:
            for count, member in enumerate(archive, 1):
                if count > MOST_FILES:
                    raise ChartError(f"has more than {MOST_FILES:,} files", file)
                if member.isdir():
                    continue
                _check_link(member, file)
                _, _, inside = member.name.replace("\\", "/").partition("/")
                name = posixpath.normpath(inside)
                if not inside or name.startswith(("..", "/")) or name == ".":
                    message = f"holds '{member.name}', which is not below the chart's folder"
                    raise ChartError(message, file)
                reader = archive.extractfile(member) if member.isreg() else None
                files[name] = reader.read() if reader is not None else b""
    except (tarfile.TarError, EOFError, OSError, zlib.error, lzma.LZMAError, ValueError):
        raise ChartError("is not a chart in a gzipped archive, or damaged", file) from None
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


def _check_link(member: tarfile.TarInfo, file: str) -> None:
    if not (member.issym() or member.islnk()):
        return
    start = posixpath.dirname(member.name) if member.issym() else ""
    target = posixpath.normpath(posixpath.join(start, member.linkname))
    inside = posixpath.normpath(member.name).partition("/")[0]
    if target.startswith(("/", "..")) or target.partition("/")[0] != inside:
        text = f"holds the link '{member.name}', which leads out of the chart, to {member.linkname}"
        raise ChartError(text, file)
