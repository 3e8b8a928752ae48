"""How functions are shown to people."""

from chartkit.engine.cel import ENVIRONMENTS
from chartkit.engine.cel.explain import listing, sections


def _signatures(name: str) -> set[str]:
    return {
        signature
        for section in sections(ENVIRONMENTS[name].libraries)
        for entry in section.entries
        for signature in entry.signatures
    }


def test_operators_functions_members_and_macros() -> None:
    shown = _signatures("vpol")
    assert {
        "int + int -> int",
        "A in list(A) -> bool",
        "size(string) -> int",
        "timestamp.getHours(string) -> int",
        "optional_type(V).hasValue() -> bool",
        "has(field)",
        "items.map(x, condition, result)",
        "math.greatest(…)",
    } <= shown


def test_every_macro_is_shown_as_it_is_written() -> None:
    for name, environment in ENVIRONMENTS.items():
        shown = _signatures(name)
        for macro in environment.macros.values():
            assert any(f"{macro.function}(" in text and "->" not in text for text in shown)


def test_what_only_macros_call_is_left_out() -> None:
    assert not [text for text in _signatures("vpol") if "@" in text or text.startswith("__")]


def test_a_listing_has_each_functions_meaning_and_an_example() -> None:
    lines = listing(ENVIRONMENTS["k8s"]).splitlines()
    place = lines.index("isQuantity(string) -> bool")
    assert lines[place + 1].startswith("    ")
    assert lines[place + 2].strip().startswith("isQuantity(")
