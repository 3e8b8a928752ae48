"""The names by which a chart tells Kyverno's CEL from an API server's are those of both."""

from collections.abc import Iterator

from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.kyverno.cel_literals import kyverno_call, kyverno_functions
from chartkit.library.forms import VALIDATING
from tests.data import from_table

_INTERNAL = {"__orValueCompat__", "math.@max", "math.@min", "globalContext.Context"}
_MACROS = {"math": {"greatest", "least"}, "exceptions": {"allowedImages", "allowedValues"}}
"""What is not a function of an environment: macros, and fields of a variable."""


def _names() -> Iterator[tuple[str, str]]:
    """The functions that Kyverno adds, by what stands before their dot."""
    kyverno, server = ENVIRONMENTS["vpol"], ENVIRONMENTS["k8s"]
    holders = {
        variable.type.name: name
        for name, variable in kyverno.variables.items()
        if name not in server.variables and "." not in name
    }
    for name, function in kyverno.functions.items():
        if name in server.functions or name in _INTERNAL:
            continue
        for overload in function.overloads:
            root, _, last = name.rpartition(".")
            if not overload.member:
                yield root, last
            elif overload.parameters[0].name in holders:
                yield holders[overload.parameters[0].name], name


def test_every_function_of_kyverno_is_known() -> None:
    found: dict[str, set[str]] = {root: set(names) for root, names in _MACROS.items()}
    for root, name in _names():
        found.setdefault(root, set()).add(name)
    assert found == {root: set(names) for root, names in kyverno_functions().items()}


@from_table("expression", "call")
def test_what_is_a_call(expression: str, call: str | None) -> None:
    spec = {"variables": [{"name": "resource.Get('a')", "expression": expression}]}
    assert kyverno_call({"kind": VALIDATING, "spec": spec}) == call
