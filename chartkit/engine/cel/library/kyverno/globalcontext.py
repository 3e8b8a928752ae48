"""`kyverno.globalcontext`: the data of GlobalContextEntries."""

from __future__ import annotations

from chartkit.engine.cel.declarations import Library, declared
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.host import Host
from chartkit.engine.cel.library.kyverno.spellings import Context, context_variable, member
from chartkit.engine.cel.values import Value
from chartkit.errors import Reraise

_VARIABLES = context_variable("globalContext", "globalcontext.Context")


def _get(host: Host, name: str, projection: str) -> Value:
    with Reraise("failed to get global reference: ", CelError, CelError):
        return host.global_context(name, projection)


@member("globalcontext_get_string: globalcontext.Context.get(string) -> dyn", hosted=True)
def get(host: Host, _context: Context, name: str) -> Value:
    return _get(host, name, "")


@member(
    "globalcontext_get_string_string: globalcontext.Context.get(string, string) -> dyn", hosted=True
)
def get_projection(host: Host, _context: Context, name: str, projection: str) -> Value:
    return _get(host, name, projection)


LIBRARY = Library("kyverno.globalcontext", overloads=declared(globals()), variables=_VARIABLES)
