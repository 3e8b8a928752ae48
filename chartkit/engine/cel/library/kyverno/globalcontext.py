"""`kyverno.globalcontext`: the data of GlobalContextEntries."""

from __future__ import annotations

from typing import Final

from chartkit.engine.cel.declarations import Library, declared
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.host import Host
from chartkit.engine.cel.library.kyverno.spellings import Context, context_variable, members
from chartkit.engine.cel.values import Value
from chartkit.errors import Reraise

_VARIABLES = context_variable("globalContext", "globalcontext.Context")


def _get(host: Host, _: Context, name: str, projection: str = "") -> Value:
    with Reraise("failed to get global reference: ", CelError, CelError):
        return host.global_context(name, projection)


_GET: Final = members(
    {
        "globalcontext_get_string: globalcontext.Context.get(string) -> dyn": _get,
        "globalcontext_get_string_string: globalcontext.Context.get(string, string) -> dyn": _get,
    },
    hosted=True,
)

LIBRARY = Library("kyverno.globalcontext", overloads=declared(globals()), variables=_VARIABLES)
