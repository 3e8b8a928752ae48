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
    from chartkit.engine.evaluation import PolicyResponse as PolicyResponse
    from chartkit.engine.evaluation import evaluate as evaluate
    from chartkit.engine.evaluation import respond as respond
    from chartkit.engine.policies import NO_ATTACHMENTS as NO_ATTACHMENTS
    from chartkit.engine.policies import PolicyAttachments as PolicyAttachments
    from chartkit.engine.policies import RunnablePolicy as RunnablePolicy
    from chartkit.engine.policies import compile_any as compile_any
    from chartkit.engine.policies import is_exception as is_exception
    from chartkit.engine.policies import is_policy as is_policy
    from chartkit.engine.policies import misnamed as misnamed
    from chartkit.engine.policies import read_exceptions as read_exceptions
    from chartkit.engine.policies import sorted_out as sorted_out
    from chartkit.engine.ports.world import OFFLINE as OFFLINE
    from chartkit.engine.ports.world import World as World
    from chartkit.engine.request.phase import AUDIT as AUDIT
    from chartkit.engine.request.phase import ENFORCE as ENFORCE
    from chartkit.engine.request.phase import Phase as Phase
    from chartkit.engine.request.request import Operation as Operation
    from chartkit.engine.request.request import Request as Request
    from chartkit.engine.request.request import User as User
    from chartkit.engine.request.request import as_submitted as as_submitted

MODULES: Final = {
    "Cleaner": "cleanup",
    "Deletion": "cleanup",
    "plan_deletions": "cleanup",
    "Configuration": "configuration",
    "Reason": "configuration",
    "read_configuration": "configuration",
    "PolicyResponse": "evaluation",
    "evaluate": "evaluation",
    "respond": "evaluation",
    "NO_ATTACHMENTS": "policies",
    "RunnablePolicy": "policies",
    "PolicyAttachments": "policies",
    "compile_any": "policies",
    "is_exception": "policies",
    "is_policy": "policies",
    "misnamed": "policies",
    "read_exceptions": "policies",
    "sorted_out": "policies",
    "OFFLINE": "ports.world",
    "World": "ports.world",
    "as_submitted": "request.request",
    "AUDIT": "request.phase",
    "ENFORCE": "request.phase",
    "Phase": "request.phase",
    "Operation": "request.request",
    "Request": "request.request",
    "User": "request.request",
}
"""The module of each name."""

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f"{__name__}.{MODULES[name]}"), name)
        return value
