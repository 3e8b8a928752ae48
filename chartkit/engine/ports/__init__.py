"""The ports through which policies ask a cluster, registries, services and signatures.

`network` and the files of `cli_files` answer them; the engine imports neither.
"""

from chartkit.engine.ports.services import (
    MOST_BYTES,
    BadUrlError,
    Cluster,
    Ending,
    NotAllowedError,
    ObjectKey,
    ServiceAnswer,
    ServiceCall,
    ServiceSource,
    labels_of,
    masked,
)
from chartkit.engine.ports.signatures import (
    NOBODY_ELSE,
    UNASKED,
    Credentials,
    KeySource,
    LoggedBlob,
    SignatureError,
    SignatureSource,
    UnknownKeyError,
    VerificationRequest,
    Verified,
)
from chartkit.engine.ports.world import (
    Mocks,
    NoMocks,
    Recorded,
    Registries,
)

__all__ = [
    "MOST_BYTES",
    "NOBODY_ELSE",
    "UNASKED",
    "BadUrlError",
    "Cluster",
    "Credentials",
    "Ending",
    "KeySource",
    "LoggedBlob",
    "Mocks",
    "NoMocks",
    "NotAllowedError",
    "ObjectKey",
    "Recorded",
    "Registries",
    "ServiceAnswer",
    "ServiceCall",
    "ServiceSource",
    "SignatureError",
    "SignatureSource",
    "UnknownKeyError",
    "VerificationRequest",
    "Verified",
    "labels_of",
    "masked",
]
