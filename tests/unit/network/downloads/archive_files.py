"""Archives for tests, honest and hostile."""

import gzip
import io
import tarfile
import zipfile
from collections.abc import Mapping

from tests.unit.catalog.library_files import POLICY

FILES: Mapping[str, bytes] = {
    f"best/{name}/{name}.yaml": POLICY.format(name=name, title=name, category="Tests").encode()
    for name in ("one", "two")
}
"""A library of two policies."""


def tar_gz(files: Mapping[str, bytes], wrapper: str = "library-main/") -> bytes:
    return tar_of([(tarfile.TarInfo(wrapper + name), content) for name, content in files.items()])


def tar_of(members: list[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    """A tar.gz of members as they are, with the sizes of their contents."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for member, content in members:
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return out.getvalue()


def special(kind: bytes, name: str = "best/one/link", target: str = "/etc/passwd") -> bytes:
    """A library with one member that is not a file."""
    member = tarfile.TarInfo(name)
    member.type = kind
    member.linkname = target
    files = [(tarfile.TarInfo(name), content) for name, content in FILES.items()]
    return tar_of([*files, (member, b"")])


def zipped(files: Mapping[str, bytes], wrapper: str = "library-main/", **given: int) -> bytes:
    """given: `mode` and `flags` of every member."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            member = zipfile.ZipInfo(wrapper + name)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.external_attr = given.get("mode", 0o100644) << 16
            archive.writestr(member, content)
    return out.getvalue()


def announced_bomb(size: int) -> bytes:
    """A tar.gz whose one member says that it has a size."""
    member = tarfile.TarInfo("library/best/one/one.yaml")
    member.size = size
    return gzip.compress(member.tobuf() + b"\0" * 4096)


def zeros_bomb(size: int) -> bytes:
    """A tar.gz of members with nothing but zeros, each of a megabyte."""
    members = [tarfile.TarInfo(f"library/best/{at}/x.yaml") for at in range(size // 1_000_000)]
    return tar_of([(member, b"\0" * 1_000_000) for member in members])


def header_bomb(size: int) -> bytes:
    """A tar.gz whose long name alone has a size."""
    member = tarfile.TarInfo("././@LongLink")
    member.type = tarfile.GNUTYPE_LONGNAME
    member.size = size
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb") as stream:
        stream.write(member.tobuf(tarfile.GNU_FORMAT))
        for _ in range(size // 1_000_000):
            stream.write(b"a" * 1_000_000)
    return out.getvalue()
