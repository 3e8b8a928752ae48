"""Go's quoted strings, as they stand in its error messages."""

from __future__ import annotations

_ESCAPES = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}


def quote(text: str) -> str:
    """The text as Go's `%q` writes it: printable characters stay, the rest is escaped."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(map(_escape, text)) + '"'


def _escape(character: str) -> str:
    known = _ESCAPES.get(character)
    if known:
        return known
    if character.isprintable():
        return character
    return escape_code(ord(character))


def escape_code(code: int) -> str:
    """The escape of a code point: `\\x7f`, `\\u2028`, `\\U0001f600`."""
    if code < 0x80:
        return f"\\x{code:02x}"
    if 0xD800 <= code < 0xE000:
        code = 0xFFFD
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def quote_ascii(text: str) -> str:
    """The text as package `time` quotes it: bytes outside printable ASCII become `\\xNN`."""
    parts = []
    for character in text:
        if character in '"\\':
            parts.append("\\" + character)
        elif " " <= character < "\x7f" or character == "\x7f":
            parts.append(character)
        else:
            parts.extend(f"\\x{byte:02x}" for byte in character.encode("utf-8", "replace"))
    return '"' + "".join(parts) + '"'


def quote_rune(character: str) -> str:
    """A character as `strconv.QuoteRuneToASCII` writes it: `'x'`, `'\\u00e9'`."""
    if character == "'":
        return "'\\''"
    if character == '"' or (" " <= character < "\x7f" and character != "\\"):
        return f"'{character}'"
    return f"'{_ESCAPES.get(character) or escape_code(ord(character))}'"


def quote_byte(code: int) -> str:
    """A byte as `encoding/json` names it in messages; it is taken as a Latin-1 character."""
    if code == ord("'"):
        return "'\\''"
    return "'\"'" if code == ord('"') else f"'{quote(chr(code))[1:-1]}'"
