"""The world outside the object of a request, as small ports that callers fill.

`OFFLINE` is the default and has nothing; `cli_files.world` fills the ports from a user's values
file and mocks, `network` from a cluster, registries and services. A question without an answer
raises `LookupFailed`, whose message becomes part of the rule's error; `NoSource` says that there
is no source, and then the context entry is omitted, as in Kyverno's command-line program. What a
port's methods do by default is what they answer offline.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeVar

from chartkit.errors import LookupFailed, NoSource
from chartkit.model import Body, Json

if TYPE_CHECKING:
    from chartkit.engine.ports.services import Cluster, ServiceAnswer, ServiceCall
    from chartkit.engine.ports.signatures import (
        KeySource,
        LoggedBlob,
        VerificationRequest,
        Verified,
    )
    from chartkit.engine.ports.timings import Timings

T = TypeVar("T")


_HINT: Final = "give the answer in a values file; nothing outside is asked"
_NO_VALUES: Final[Mapping[str, Json]] = MappingProxyType({})


class UnknownEntry(LookupFailed):
    """No GlobalContextEntry has the name."""


class KubernetesApi(Protocol):
    """The API server of a cluster."""

    def configmap(self, _namespace: str, name: str, /) -> Body:
        """Return the ConfigMap `namespace/name`; its `data` and `metadata` are used."""
        raise NoSource(f'configmaps "{name}" not found', hint=_HINT)

    def call(self, _method: str, _path: str, _data: Json, /) -> Json:
        """Return the answer to a method (GET or POST) on a URL path."""
        raise NoSource("no cluster to ask", hint=_HINT)

    def cluster(self, _policy: str, _rule: str, /) -> Cluster:
        """Return the objects that a rule of a policy (`name` or `namespace/name`) sees."""
        from chartkit.engine.ports.services import EMPTY

        return EMPTY


class OfflineApi(KubernetesApi):
    """No API server: there are no objects, and every call fails."""


class Credentials(NamedTuple):
    """The credentials for registries that a policy names.

    providers: `default`, `amazon`, `azure`, `google`, `github`; secrets: of Secrets, a name in
    Kyverno's own namespace or `namespace/name`; insecure: whether registries may be asked without
    encryption.
    """

    providers: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    insecure: bool = False


NOBODY_ELSE: Final = Credentials()
"""A policy that says nothing of credentials."""


class ImageSource(Protocol):
    """Registries; each method raises LookupFailed in Kyverno's words."""

    def image(self, _reference: str, _credentials: Credentials = NOBODY_ELSE, /) -> Body:
        """Return an image as a context entry sees it: `manifest`, `configData` and so on."""
        raise NoSource("no registry to ask", hint=_HINT)

    def descriptor(self, _reference: str, _credentials: Credentials = NOBODY_ELSE, /) -> Body:
        """Return an image as CEL sees it: `manifest`, `config` and so on."""
        raise NoSource("no registry to ask", hint=_HINT)

    def digest(self, reference: str, _credentials: Credentials = NOBODY_ELSE, /) -> str:
        """Return the digest that a reference leads to."""
        text = f"failed to fetch image reference: {reference}, error: no registry to ask"
        raise NoSource(text, hint=_HINT)


class Registries(ImageSource, Protocol):
    """Registries that log in with the Secrets that policies name."""

    def learn(self, objects: Iterable[Body], /) -> None:
        """Keep the Secrets among objects."""


class OfflineImages(ImageSource):
    """No registry."""


class ServiceSource(Protocol):
    """The port that makes the calls."""

    def ask(self, _call: ServiceCall, /) -> ServiceAnswer:
        """Return the answer; raises BadUrlError, NotAllowedError, and LookupFailed without an
        answer, with a message that contains no header."""
        raise NoSource("no network to ask", hint="--allow-network names hosts that may be asked")


class OfflineServices(ServiceSource):
    """No service is called."""


class SignatureSource(Protocol):
    """Verifies; each method raises SignatureError or LookupFailed in Kyverno's words.

    By default there is no registry to ask.
    """

    def learn(self, _keys: KeySource, /) -> None:
        """Keep the source of the keys that policies name by their Secrets."""
        return

    def signature(self, _request: VerificationRequest, /) -> Verified:
        """Verify that an image is signed as a ClusterPolicy's attestor requires."""
        raise _NOBODY

    def attestations(self, _request: VerificationRequest, /) -> Verified:
        """Return the attestations of an image by a ClusterPolicy's attestor."""
        raise _NOBODY

    def signed(self, _image: str, _attestor: Body, _credentials: Credentials, /) -> None:
        """Verify that an image is signed by an attestor of an ImageValidatingPolicy.

        attestor: an entry of `spec.attestors`, its expressions replaced with their values.
        """
        raise _NOBODY

    def attested(
        self, _image: str, _attestation: Body, _attestor: Body, _credentials: Credentials, /
    ) -> Json:
        """Return an attestor's attestation of an image, as `extractPayload` shows it.

        attestation: an entry of `spec.attestations`, for an in-toto statement or a referrer. None
        for attested data that is not JSON.
        """
        raise _NOBODY

    def payload(self, _image: str, _attestation: Body, _credentials: Credentials, /) -> Json:
        """Return the first referrer of an attestation's type, by any attestor.

        For `extractPayload` of a referrer that nothing verified before.
        """
        raise _NOBODY


class _Unasked(SignatureSource):
    """No registry."""


_NOBODY: Final = NoSource("no registry to ask", hint="give --registry to ask the images' own")
UNASKED: Final[SignatureSource] = _Unasked()


class BlobSource(Protocol):
    """Verifies local content, without a registry; by default it cannot."""

    def verify(self, _content: bytes, _signature: bytes, _key: str, /) -> None:
        """Verify that a public key signed some content, by its SHA-256; key: PEM or `k8s://…`.

        Raises SignatureError where it did not, any other LookupFailed where that is not known.
        """
        raise NoSource("there is no verifier for it")

    def logged(
        self, _blob: LoggedBlob, _key: str = "", _certificate: str = "", _chain: str = "", /
    ) -> str | None:
        """Return the name in the signer's certificate, as a log's entry has it; None where the
        entry is not the signature's, or not the log's.

        key, certificate: of the required signer, empty for any; chain: the issuers of that
        certificate, empty for none. The issuer of the certificate next to the signature is not
        checked. Raises SignatureError for a certificate that cannot be used, any other
        LookupFailed where that is not known.
        """
        raise NoSource("there is no verifier for it")


class _Unverified(BlobSource):
    """No verifier."""


UNVERIFIED: Final[BlobSource] = _Unverified()


class GlobalContext(Protocol):
    """The data of GlobalContextEntries."""

    def data(self, name: str, _projection: str, /) -> Json:
        """Return the data of an entry, or of one of its projections (empty: the whole)."""
        raise NoSource(f"failed to fetch entry key={name}", hint=_HINT)


class OfflineGlobalContext(GlobalContext):
    """No entries."""


class Recorded(NamedTuple):
    """A recorded answer to an API or service call: HTTP status and decoded body."""

    status: int
    body: Json


class Mocks(Protocol):
    """Values and answers from a user in place of the rest of the world.

    has_recorded: whether there is any recorded answer; then calls are prepared before they are
    needed. values_answer_calls: whether a value under a call's name is its answer.
    """

    @property
    def has_recorded(self) -> bool: ...

    @property
    def values_answer_calls(self) -> bool: ...

    def recorded(self, _method: str, _url: str, /) -> Recorded | None:
        """Return the recorded answer to a call, looked up before any rule runs."""
        return None

    def rule_values(self, _policy: str, _rule: str, /) -> Mapping[str, Json]:
        """Return the variables (dotted names) that the user gave for one rule."""
        return _NO_VALUES


class NoMocks(Mocks):
    """Nothing recorded, and no values."""

    has_recorded = False
    values_answer_calls = False


_API: Final = OfflineApi()
_SERVICES: Final = OfflineServices()
_IMAGES: Final = OfflineImages()
_ENTRIES: Final = OfflineGlobalContext()
_MOCKS: Final = NoMocks()


@dataclass(frozen=True, slots=True)
class World:
    """Everything that policies may ask; each port has nothing by default. timings: measures what
    policies take, None where that is not wanted; wants_fields: whether results have to name the
    fields over which policies fail, which takes as long as judging; uses_defaults: whether
    the default of an `apiCall` replaces a call that cannot be made, as in Kyverno's admission
    controller."""

    api: KubernetesApi = _API
    services: ServiceSource = _SERVICES
    images: ImageSource = _IMAGES
    signatures: SignatureSource = UNASKED
    blobs: BlobSource = UNVERIFIED
    global_context: GlobalContext = _ENTRIES
    mocks: Mocks = _MOCKS
    timings: Timings | None = None
    wants_fields: bool = True
    uses_defaults: bool = False


OFFLINE: Final = World()
