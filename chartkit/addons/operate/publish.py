"""Publishes the generated charts: packed, signed, and pushed to a registry by Helm."""

from __future__ import annotations

import hashlib
import re
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

import semver

from chartkit import atomic
from chartkit.charts.plan import ENGINE, POLICIES, REPORTER
from chartkit.documents.input_files import read_bytes, read_text
from chartkit.documents.reader import parse_yaml
from chartkit.errors import ChartkitError, InputError, RenderError, extra
from chartkit.helm import chart_folder
from chartkit.helm.backend import HelmClient, HelmRefusedError, helm
from chartkit.helm.chart_folder import packed, unpacked
from chartkit.helm.model import ChartError
from chartkit.model import Location, text_of
from chartkit.project.project import Project
from chartkit.temporary import temporary_folder

if TYPE_CHECKING:
    from pysequoia import PySigner


_METADATA: Final = "Chart.yaml"
_LARGEST: Final = 64 * 1024 * 1024
_LARGEST_SIGNATURE: Final = 1024 * 1024
_NAME: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")
"""A chart's name as Helm takes it. It becomes part of a file's name, and a stranger may have
written it."""
_LARGEST_KEY: Final = 1024 * 1024
_LIMIT_SECONDS: Final = 300
_REMOTE: Final = re.compile(r"oci://[A-Za-z0-9.\-\[\]:]+(/[a-z0-9]+([._/-]+[a-z0-9]+)*)?/?")
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
_MISSING: Final = re.compile(
    r"not found|\b404\b|NAME_UNKNOWN|MANIFEST_UNKNOWN|does not exist|unable to locate any tags",
    re.IGNORECASE,
)


class PublishError(ChartkitError):
    """Charts that are not to be published, or that a registry did not take."""

    exit_code: ClassVar[int] = 1


@dataclass(frozen=True, slots=True)
class ChartArchive:
    """A packed chart. metadata: its Chart.yaml; provenance: the signed `.prov`, empty without."""

    name: str
    version: str
    content: bytes
    metadata: str
    provenance: bytes = b""

    @property
    def file(self) -> str:
        """The archive's file name, as Helm gives it."""
        return f"{self.name}-{self.version}.tgz"

    @property
    def digest(self) -> str:
        """The SHA-256 of the archive, as registries write it."""
        return f"sha256:{hashlib.sha256(self.content).hexdigest()}"


def pack(project: Project) -> tuple[ChartArchive, ...]:
    """Pack the charts that a project has written; raise RenderError for one that Helm refuses."""
    folders = [project.charts / name for name in (ENGINE, POLICIES, REPORTER)]
    written = [folder for folder in folders if (folder / _METADATA).is_file()]
    if not written:
        message = "there are no charts to pack"
        raise InputError(message, Location(str(project.charts)), "run `chartkit render` first")
    return tuple(_packed(folder) for folder in written)


def _packed(folder: Path) -> ChartArchive:
    try:
        helm().check(folder)
        entries = [entry for entry in chart_folder.entries(folder) if not entry.folder]
        files = {entry.name: chart_folder.read(entry.path, entry.name) for entry in entries}
    except ChartError as error:
        raise RenderError(error.message, Location(str(folder / error.file)), error.hint) from None
    files = {name: files[name] for name in sorted(files, key=lambda key: (key != _METADATA, key))}
    metadata = files[_METADATA].decode("utf-8", "replace")
    name, version = _identity(metadata, folder / _METADATA)
    return ChartArchive(name, version, packed(files, name), metadata)


def read(path: Path) -> ChartArchive:
    """Read a packed chart, with the `.prov` next to it; raise InputError."""
    content = read_bytes(path, _LARGEST)
    signed = path.with_name(f"{path.name}.prov")
    provenance = read_bytes(signed, _LARGEST_SIGNATURE) if signed.exists() else b""
    try:
        files = unpacked(content, "")
    except RenderError as error:
        hint = "`chartkit package` packs charts"
        raise InputError(error.message, Location(str(path)), hint) from None
    metadata = files.get(_METADATA, b"").decode("utf-8", "replace")
    return ChartArchive(*_identity(metadata, path), content, metadata, provenance)


def write(archives: tuple[ChartArchive, ...], folder: Path) -> list[Path]:
    """Write archives and what was signed, all or none; raise InputError."""
    texts = {archive.file: archive.content for archive in archives}
    texts |= {f"{chart.file}.prov": chart.provenance for chart in archives if chart.provenance}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as files:
            for name, content in texts.items():
                files.enter_context(atomic.replacing(folder / name)).write(content)
    except OSError as error:
        location = Location(str(error.filename or folder))
        raise InputError(f"cannot be written: {error.strerror or error}", location) from None
    return [folder / archive.file for archive in archives]


def _identity(metadata: str, folder: Path) -> tuple[str, str]:
    where = Location(str(folder))
    try:
        body = parse_yaml(metadata)
    except InputError as error:
        raise InputError(f"its Chart.yaml {error.message}", where) from None
    values = [body.get(key) if isinstance(body, dict) else None for key in ("name", "version")]
    name, version = (text_of(value) for value in values)
    if not _NAME.fullmatch(name):
        hint = "letters, digits, and . _ - within"
        raise InputError("its Chart.yaml has no `name` that Helm takes", where, hint)
    if not semver.Version.is_valid(version):
        hint = "such as 1.4.0"
        raise InputError("its Chart.yaml has no semantic `version`", where, hint)
    return name, version


def sign(
    archives: tuple[ChartArchive, ...], key: Path, passphrase_file: Path | None
) -> tuple[ChartArchive, ...]:
    """Return the archives with their provenance; key: the file of a secret OpenPGP key. Raise
    InputError for a key that cannot sign."""
    try:
        import pysequoia
    except ImportError:
        hint = extra("provenance")
        raise InputError("signing needs pysequoia, which is not installed", hint=hint) from None
    signer = _signer(key, passphrase_file)
    signed = []
    for archive in archives:
        text = f"{archive.metadata.rstrip()}\n\n...\nfiles:\n  {archive.file}: {archive.digest}\n"
        mode = pysequoia.SignatureMode.CLEAR
        signed.append(replace(archive, provenance=pysequoia.sign(signer, text.encode(), mode=mode)))
    return tuple(signed)


def _signer(key: Path, passphrase_file: Path | None) -> PySigner:
    import pysequoia

    location = Location(str(key))
    content = read_bytes(key, _LARGEST_KEY)
    passphrase = read_text(passphrase_file).rstrip("\r\n") if passphrase_file else None
    try:
        secret = pysequoia.Tsk.from_bytes(content)
    except RuntimeError as error:
        hint = "export one by `gpg --export-secret-keys NAME`"
        raise InputError(f"is not a secret OpenPGP key: {_reason(error)}", location, hint) from None
    try:
        return secret.signer(passphrase)
    except RuntimeError as error:
        missing = None if passphrase_file else "name its passphrase's file by --passphrase-file"
        raise InputError(f"cannot sign: {_reason(error)}", location, missing) from None


def _reason(error: RuntimeError) -> str:
    """Return the first line: the library adds a stack of its own."""
    return str(error).partition("\n")[0]


def remote(address: str) -> str:
    """Return the place that charts go to, `oci://HOST/PATH`; raise InputError for another one."""
    if not _REMOTE.fullmatch(address):
        hint = "give oci://HOST/PATH; the chart's name and version follow from the archive"
        raise InputError(f"'{address}' is not an OCI registry", hint=hint)
    return address.rstrip("/")


def push(archive: ChartArchive, to: str, is_plain: bool, overwrite: bool) -> tuple[str, str]:
    """Push a chart; return its reference and its manifest's digest, empty where it was there
    already. is_plain: whether without encryption; overwrite: whether a version that is there with
    other content is replaced.

    Raise PublishError where the registry refuses, or has that version with other content.
    """
    chart, flags = f"{to}/{archive.name}", ["--plain-http"] if is_plain else []
    reference = f"{chart}:{archive.version.replace('+', '_')}"
    if not overwrite:
        there = _pull(chart, archive.version, flags)
        if there == archive.content:
            return reference, ""
        if there is not None:
            text = f"{reference} is there with other content"
            raise PublishError(f"{text}: raise `chartVersion` in chartkit.yaml, or --overwrite it")
    with temporary_folder() as folder:
        (file,) = write((archive,), folder)
        arguments = ["push", str(file), to, *flags]
        digest = _DIGEST.search("".join(HelmClient(_LIMIT_SECONDS).run(arguments)))
    if digest is None:
        raise PublishError(f"Helm named no digest of {reference}")
    return reference, digest[0]


def _pull(chart: str, version: str, flags: list[str]) -> bytes | None:
    """Return the archive that the registry has of a chart's version, None where it has none."""
    with temporary_folder() as folder:
        options = ["--version", version, "--destination", str(folder), *flags]
        try:
            HelmClient(_LIMIT_SECONDS).run(["pull", chart, *options])
        except HelmRefusedError as error:
            if _MISSING.search(error.message):
                return None
            raise
        path = next(iter(sorted(folder.glob("*.tgz"))), None)
        return path.read_bytes() if path is not None else None
