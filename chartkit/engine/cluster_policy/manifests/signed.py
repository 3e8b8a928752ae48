"""The manifest that somebody signed, as an object's annotations carry it: gzip and base64 of YAML,
or of a tar archive of YAML (k8s-manifest-sigstore)."""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from chartkit.documents.yaml_builder import build_documents
from chartkit.engine.cluster_policy.manifests.differences import leaves
from chartkit.errors import EvaluationError, InputError
from chartkit.go.base64_text import Base64Error, decode_base64
from chartkit.go.fmt import UnsupportedValueError, go_json
from chartkit.model import Body, Json

_MOST_BYTES: Final = 4 * 1024 * 1024
"""The most bytes of an unpacked message; the API server accepts no larger object."""
_MOST_CANDIDATES: Final = 3
_MOST_FILES: Final = 1000
_NOT_READ: Final = "failed to read YAMLs in the gzipped message: "
_NO_MANIFEST: Final = "failed to find a YAML manifest in the gzipped message"


class NoManifest(EvaluationError):  # noqa: N818 - a verdict: nobody signed this object
    """There is no signed manifest of an object; the text is Kyverno's."""


@dataclass(frozen=True, slots=True)
class SignatureSet:
    """One signature of the message, in base64, with the certificate (PEM) and the log's entry that
    stand beside it; empty where they do not."""

    signature: str
    certificate: str = ""
    bundle: str = ""

    @property
    def is_plain(self) -> bool:
        """Return whether nothing but a key is needed."""
        return not (self.certificate or self.bundle)


@dataclass(frozen=True, slots=True)
class SignedManifest:
    """content: what is signed; candidates: the manifests in it that may be an object's."""

    content: bytes
    candidates: Sequence[Body]


def find_manifest(body: Body, annotations: Mapping[str, str], domain: str) -> SignedManifest:
    """Looks for an object's signed manifest.

    Raises NoManifest where there is none, EvaluationError for one that cannot be read.
    """
    message = annotations.get(f"{domain}/message")
    if message is None:
        raise NoManifest("message not found")
    try:
        packed = decode_base64(message)
    except Base64Error as error:
        text = f"failed to decode base64 message in the annotation: {error}"
        raise EvaluationError(text) from error
    content = _unzipped(packed)
    candidates = _candidates(body, list(_manifests(content)))
    if not candidates:
        raise NoManifest(_NO_MANIFEST)
    return SignedManifest(content, candidates)


def signature_sets(annotations: Mapping[str, str], domain: str) -> Sequence[SignatureSet]:
    """The signatures of an object's message, in order: `signature`, `signature_1` and so on."""
    found: list[SignatureSet] = []
    suffix = ""
    while (signature := annotations.get(f"{domain}/signature{suffix}")) is not None:
        others = (annotations.get(f"{domain}/{name}{suffix}", "") for name in _OTHERS)
        found.append(SignatureSet(signature, *map(_unpacked, others)))
        suffix = f"_{len(found)}"
    return found


_OTHERS: Final = ("certificate", "bundle")


def _unpacked(text: str) -> str:
    """Return the content of an annotation; never empty if there is one."""
    if not text:
        return ""
    try:
        content = _unzipped(decode_base64(text))
    except Base64Error:
        return "?"
    return content.decode(errors="replace") or "?"


def _unzipped(content: bytes) -> bytes:
    """Return the content unpacked; content that is not gzip stays as it is."""
    import gzip  # few policies look at manifests

    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as stream:
            found = stream.read(_MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error):
        return content
    if len(found) > _MOST_BYTES:
        raise EvaluationError(f"{_NOT_READ}the message is larger than {_MOST_BYTES} bytes")
    return found


def _manifests(content: bytes) -> Iterator[Json]:
    documents = _documents(content)
    if documents:
        yield from documents
        return
    if content[:2] != b"\x1f\x8b":
        short = "unexpected EOF" if len(content) < _HEADER else "gzip: invalid header"
        raise EvaluationError(
            f"{_NOT_READ}gzip.NewReader() failed while decompressing tar gz: {short}"
        )
    for name, file in sorted(_archived(_unzipped(content)).items()):
        if name.endswith((".yaml", ".yml")):
            yield from _documents(file)


_HEADER: Final = 10
"""Bytes of a gzip header."""


def _archived(content: bytes) -> Mapping[str, bytes]:
    import tarfile

    found: dict[str, bytes] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
            for member in archive:
                file = archive.extractfile(member) if member.isreg() else None
                if file is not None and not member.name.startswith(".."):
                    found[member.name] = file.read()
                if len(found) > _MOST_FILES:
                    raise EvaluationError(f"{_NOT_READ}more than {_MOST_FILES} files")
    except (tarfile.TarError, OSError, EOFError, ValueError) as error:
        text = f"tarReader.Next() failed while decompressing tar gz: {error}"
        raise EvaluationError(_NOT_READ + text) from error
    return found


def _documents(content: bytes) -> Sequence[Json]:
    """The documents before the first one that cannot be read."""
    found: list[Json] = []
    try:
        for body, *_ in build_documents(content.decode(), "<message>"):
            found.append(json.loads(go_json(body)))
    except (InputError, UnicodeDecodeError, UnsupportedValueError, RecursionError):
        return found
    return found


def _candidates(body: Body, manifests: Sequence[Json]) -> Sequence[Body]:
    """The manifest of an object's name, or else those of its kind that have most in common."""
    kind = [
        one for one in manifests if isinstance(one, dict) and one.get("kind") == body.get("kind")
    ]
    named = [one for one in kind if _identity(one) == _identity(body)]
    if named:
        same = [one for one in named if _namespace(one) == _namespace(body)]
        return (same if len(named) > 1 and same else named)[:1]
    wanted = leaves(body)
    counts = [sum(wanted.get(key) == value for key, value in leaves(one).items()) for one in kind]
    most = max(counts, default=0)
    best = [one for one, count in zip(kind, counts, strict=True) if count == most]
    return best[:_MOST_CANDIDATES]


def _identity(body: Body) -> tuple[str, Json]:
    version = body.get("apiVersion")
    group = version.rpartition("/")[0] if isinstance(version, str) else ""
    return group, _metadata(body).get("name")


def _namespace(body: Body) -> str:
    return _metadata(body).get("namespace") or ""


def _metadata(body: Body) -> Body:
    metadata = body.get("metadata")
    return metadata if isinstance(metadata, dict) else {}
