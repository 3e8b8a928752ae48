"""Upper and lower case as Go has them: each character is mapped alone, to one character."""

from __future__ import annotations


def to_upper(text: str) -> str:
    """The text in upper case; what would become two characters (`ß`) stays as it is."""
    return text.upper() if text.isascii() else "".join(map(_upper, text))


def to_lower(text: str) -> str:
    """The text in lower case."""
    return text.lower() if text.isascii() else "".join(each.lower()[0] for each in text)


def equal_fold(first: str, second: str) -> bool:
    """Return whether two texts differ in nothing but upper and lower case."""
    if first.isascii() and second.isascii():
        return first.lower() == second.lower()
    return list(map(str.casefold, first)) == list(map(str.casefold, second))


def _upper(character: str) -> str:
    for mapped in (character.upper(), character.title()):
        if len(mapped) == 1:
            return mapped
    return character
