"""Whatever is declared is registered: functions, overloads, macros, libraries, operators."""

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest

import chartkit.engine.cel.library
from chartkit.engine.cel.declarations import Environment, Library, Macro, Overload
from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cluster_policy.conditions.parse import OPERATORS
from chartkit.engine.jmespath.declaration import FunctionSpec
from chartkit.engine.jmespath.functions import FUNCTIONS
from chartkit.registration import declarations, modules

CEL_MODULES = [
    import_module(module.name)
    for module in walk_packages(
        chartkit.engine.cel.library.__path__, f"{chartkit.engine.cel.library.__name__}."
    )
]
FUNCTION = """
from chartkit.engine.jmespath.declaration import function

@function("shout(string) string")
def shout(text: str) -> str:
    return text.upper()
"""
OVERLOAD = """
from chartkit.engine.cel.declarations import declared, overload

@overload("shout_string: shout(string) -> string")
def shout(text: str) -> str:
    return text.upper()

again = shout
OVERLOADS = declared(globals())
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], str]]:
    """A package with one module of a text."""
    name = "declaring_package"
    monkeypatch.syspath_prepend(str(tmp_path))

    def write(text: str) -> str:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "__init__.py").write_text("")
        (folder / "shouting.py").write_text(text)
        return name

    yield write
    for module in [each for each in sys.modules if each.partition(".")[0] == name]:
        del sys.modules[module]


def test_a_function_in_a_new_module_is_registered(package: Callable[[str], str]) -> None:
    (module,) = modules(package(FUNCTION))
    (spec,) = declarations(FunctionSpec, vars(module))
    assert spec.implementation("a") == "A"


def test_an_overload_is_registered_once_by_its_declaration(package: Callable[[str], str]) -> None:
    (module,) = modules(package(OVERLOAD))
    assert (module.shout,) == module.OVERLOADS


def test_every_declared_jmespath_function_has_a_name_of_its_own() -> None:
    declared = [
        spec.name
        for module in modules("chartkit.engine.jmespath.functions")
        for spec in declarations(FunctionSpec, vars(module))
    ]
    assert sorted(declared) == list(FUNCTIONS)


def _registered(kind: type[Library] | type[Macro] | type[Overload]) -> set[int]:
    def members(environment: Environment) -> Iterator[object]:
        for library in environment.libraries:
            yield from (library, *library.overloads, *library.macros)

    everything = (each for environment in ENVIRONMENTS.values() for each in members(environment))
    return {id(each) for each in everything if isinstance(each, kind)}


@pytest.mark.parametrize("kind", [Library, Macro, Overload])
def test_an_environment_has_everything_that_modules_of_cel_declare(
    kind: type[Library] | type[Macro] | type[Overload],
) -> None:
    registered = _registered(kind)
    missing = [
        f"{module.__name__}: {declaration}"
        for module in CEL_MODULES
        for declaration in declarations(kind, vars(module))
        if id(declaration) not in registered
    ]
    assert missing == []


def test_every_macro_says_how_it_is_written() -> None:
    macros = [macro for module in CEL_MODULES for macro in declarations(Macro, vars(module))]
    assert len(macros) > 20
    assert [macro.function for macro in macros if f"{macro.function}(" not in macro.usage] == []


def test_every_operator_of_a_condition_is_in_the_table() -> None:
    """Public functions that prepare a comparison, or that make such functions, are operators."""
    declared = {
        f"{module.__name__}.{name}"
        for module in modules("chartkit.engine.cluster_policy.conditions")
        for name, value in vars(module).items()
        if getattr(value, "__module__", "") == module.__name__
        and value.__annotations__.get("return") in ("Compare", "Prepare")
        and not name.startswith("_")
    }
    registered = {
        f"{prepare.__module__}.{prepare.__qualname__.partition('.')[0]}"
        for prepare in OPERATORS.values()
    }
    assert declared == registered
