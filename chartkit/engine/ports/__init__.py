"""The ports through which policies ask a cluster, registries, services and signatures.

`network` and the files of `cli_files` answer them; the engine imports neither. The names here are
loaded when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chartkit.engine.ports.services import MOST_BYTES as MOST_BYTES
    from chartkit.engine.ports.services import BadUrlError as BadUrlError
    from chartkit.engine.ports.services import Cluster as Cluster
    from chartkit.engine.ports.services import Ending as Ending
    from chartkit.engine.ports.services import NotAllowedError as NotAllowedError
    from chartkit.engine.ports.services import ObjectKey as ObjectKey
    from chartkit.engine.ports.services import ServiceAnswer as ServiceAnswer
    from chartkit.engine.ports.services import ServiceCall as ServiceCall
    from chartkit.engine.ports.services import labels_of as labels_of
    from chartkit.engine.ports.services import masked as masked
    from chartkit.engine.ports.signatures import KeySource as KeySource
    from chartkit.engine.ports.signatures import LoggedBlob as LoggedBlob
    from chartkit.engine.ports.signatures import SignatureError as SignatureError
    from chartkit.engine.ports.signatures import UnknownKeyError as UnknownKeyError
    from chartkit.engine.ports.signatures import VerificationRequest as VerificationRequest
    from chartkit.engine.ports.signatures import Verified as Verified
    from chartkit.engine.ports.world import NOBODY_ELSE as NOBODY_ELSE
    from chartkit.engine.ports.world import UNASKED as UNASKED
    from chartkit.engine.ports.world import Credentials as Credentials
    from chartkit.engine.ports.world import Mocks as Mocks
    from chartkit.engine.ports.world import NoMocks as NoMocks
    from chartkit.engine.ports.world import Recorded as Recorded
    from chartkit.engine.ports.world import Registries as Registries
    from chartkit.engine.ports.world import ServiceSource as ServiceSource
    from chartkit.engine.ports.world import SignatureSource as SignatureSource
else:

    def __getattr__(name: str) -> object:
        for module in ("world", "services", "signatures"):
            loaded = import_module(f"{__name__}.{module}")
            if hasattr(loaded, name):
                return getattr(loaded, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
