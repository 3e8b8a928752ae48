"""The bundled engine: answers what Kyverno answers, offline.

The names here are its front door, each loaded when it is first used; `engine.ports` has the ports
that callers fill.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from chartkit.engine.cleanup import Cleaner as Cleaner
    from chartkit.engine.cleanup import Deletion as Deletion
    from chartkit.engine.cleanup import plan_deletions as plan_deletions
    from chartkit.engine.configuration import Configuration as Configuration
    from chartkit.engine.configuration import Reason as Reason
    from chartkit.engine.configuration import read_configuration as read_configuration
    from chartkit.engine.policies import NO_ATTACHMENTS as NO_ATTACHMENTS
    from chartkit.engine.policies import PolicyAttachments as PolicyAttachments
    from chartkit.engine.policies import RunnablePolicy as RunnablePolicy
    from chartkit.engine.policies import compile_any as compile_any
    from chartkit.engine.policies import evaluate as evaluate
    from chartkit.engine.policies import is_exception as is_exception
    from chartkit.engine.policies import is_policy as is_policy
    from chartkit.engine.policies import misnamed as misnamed
    from chartkit.engine.policies import read_exceptions as read_exceptions
    from chartkit.engine.policies import sorted_out as sorted_out
    from chartkit.engine.ports.world import OFFLINE as OFFLINE
    from chartkit.engine.ports.world import World as World
    from chartkit.engine.request import AUDIT as AUDIT
    from chartkit.engine.request import ENFORCE as ENFORCE
    from chartkit.engine.request import Operation as Operation
    from chartkit.engine.request import Phase as Phase
    from chartkit.engine.request import Request as Request
    from chartkit.engine.request import User as User
    from chartkit.engine.request import as_submitted as as_submitted
    from chartkit.engine.responses import PolicyResponse as PolicyResponse
    from chartkit.engine.responses import explain as explain
    from chartkit.engine.responses import respond as respond

_NAMES: Final = {
    "cleanup": ("Cleaner", "Deletion", "plan_deletions"),
    "configuration": ("Configuration", "Reason", "read_configuration"),
    "policies": (
        "NO_ATTACHMENTS",
        "RunnablePolicy",
        "PolicyAttachments",
        "compile_any",
        "evaluate",
        "is_exception",
        "is_policy",
        "misnamed",
        "read_exceptions",
        "sorted_out",
    ),
    "ports.world": ("OFFLINE", "World"),
    "responses": ("PolicyResponse", "explain", "respond"),
    "request": ("as_submitted", "AUDIT", "ENFORCE", "Operation", "Phase", "Request", "User"),
}
MODULES: Final = {name: module for module, names in _NAMES.items() for name in names}
"""The module of each name."""

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f"{__name__}.{MODULES[name]}"), name)
        return value
