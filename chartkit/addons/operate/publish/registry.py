"""Packed charts in an OCI registry: pushed and pulled by Helm, with the logins that Helm has."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from chartkit.addons.operate.publish.archives import ChartArchive, PublishError, write
from chartkit.errors import InputError
from chartkit.helm.client import HelmClient, HelmRefusedError
from chartkit.temporary import temporary_folder

_LIMIT_SECONDS: Final = 300
_REMOTE: Final = re.compile(r"oci://[A-Za-z0-9.\-\[\]:]+(/[a-z0-9]+([._/-]+[a-z0-9]+)*)?/?")
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
_MISSING: Final = re.compile(
    r"not found|\b404\b|NAME_UNKNOWN|MANIFEST_UNKNOWN|does not exist|unable to locate any tags",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Pushed:
    """A chart in a registry. digest: of its manifest, empty where it was there already."""

    reference: str
    digest: str


@dataclass(frozen=True, slots=True)
class Remote:
    """The place that charts go to: `oci://HOST/PATH`. plain: without encryption."""

    address: str
    plain: bool = False

    @property
    def flags(self) -> list[str]:
        """Helm's arguments for it."""
        return ["--plain-http"] if self.plain else []

    def reference(self, archive: ChartArchive) -> str:
        """Return the chart's address without its version, as `helm install` takes it."""
        return f"{self.address}/{archive.name}"


def remote(address: str, plain: bool) -> Remote:
    """Return a remote; raise InputError for an address that is none."""
    if not _REMOTE.fullmatch(address):
        hint = "give oci://HOST/PATH; the chart's name and version follow from the archive"
        raise InputError(f"'{address}' is no OCI registry", hint=hint)
    return Remote(address.rstrip("/"), plain)


def push(archive: ChartArchive, to: Remote, overwrite: bool) -> Pushed:
    """Push a chart. overwrite: whether a version that is there with other content is replaced.

    Raise PublishError where the registry refuses, or has that version with other content.
    """
    reference = f"{to.reference(archive)}:{archive.version.replace('+', '_')}"
    if not overwrite:
        there = _pull(archive, to)
        if there == archive.content:
            return Pushed(reference, "")
        if there is not None:
            text = f"{reference} is there with other content"
            raise PublishError(f"{text}: raise `chartVersion` in chartkit.yaml, or --overwrite it")
    with temporary_folder() as folder:
        (file,) = write((archive,), folder)
        arguments = ["push", str(file), to.address, *to.flags]
        digest = _DIGEST.search("".join(HelmClient(_LIMIT_SECONDS).run(arguments)))
    if digest is None:
        raise PublishError(f"Helm named no digest of {reference}")
    return Pushed(reference, digest[0])


def _pull(archive: ChartArchive, to: Remote) -> bytes | None:
    """Return the archive that the registry has of this version, None where it has none."""
    with temporary_folder() as folder:
        version = ["--version", archive.version, "--destination", str(folder)]
        try:
            HelmClient(_LIMIT_SECONDS).run(["pull", to.reference(archive), *version, *to.flags])
        except HelmRefusedError as error:
            if _MISSING.search(error.message):
                return None
            raise
        found = next(iter(sorted(folder.glob("*.tgz"))), None)
        return found.read_bytes() if found is not None else None
