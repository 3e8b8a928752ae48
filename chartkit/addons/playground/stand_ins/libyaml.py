"""The classes of `yaml._yaml`, which are libyaml's, of PyYAML's own in Python.

The page has it under that name. Where PyYAML reads a text in another way than libyaml, or refuses
it in other words, it is libyaml's that counts: tabs, `?` in flow style, where a text ends.
"""

from __future__ import annotations

import re
from typing import Any, Final

from yaml.composer import Composer
from yaml.emitter import Emitter
from yaml.error import Mark, MarkedYAMLError
from yaml.events import ScalarEvent
from yaml.parser import Parser, ParserError
from yaml.reader import Reader, ReaderError
from yaml.scanner import Scanner, ScannerError
from yaml.serializer import Serializer
from yaml.tokens import ScalarToken

_BREAKS: Final = "\r\n\x85\u2028\u2029"
_BLANKS: Final = "\0 \t" + _BREAKS
_PROBLEMS: Final = {
    r"(sequence entries are not allowed) here": r"block \1 in this context",
    r"(mapping (?:values|keys) are not allowed) here": r"\1 in this context",
    r"expected '<document start>'.*": "did not find expected <document start>",
    r"expected (?:the )?(node content|alphabetic or numeric character), but.*": (
        r"did not find expected \1"
    ),
    r"expected (',' or '[\]}]'), but got.*": r"did not find expected \1",
    r"expected (?:chomping or indentation|a comment or a line).*": (
        "did not find expected comment or line break"
    ),
    r"expected ' ', but found.*": "did not find expected whitespace or line break",
    r"expected URI, but found.*": "did not find expected tag URI",
    r"found character .* (that cannot start any token)": r"found character \1",
    r"found unexpected document separator": "found unexpected document indicator",
    r"(found unknown escape character) .*": r"\1",
}
_BLOCK_END: Final = {
    "while parsing a block mapping": "did not find expected key",
    "while parsing a block collection": "did not find expected '-' indicator",
}


class CParser(Reader, Scanner, Parser, Composer):
    """Events and nodes of a text, with marks."""

    def __init__(self, stream: Any) -> None:
        Reader.__init__(self, stream)
        Scanner.__init__(self)
        Parser.__init__(self)
        Composer.__init__(self)

    def check_printable(self, data: str) -> None:
        """Raise ReaderError for control characters."""
        try:
            super().check_printable(data)
        except ReaderError as error:
            reason = "control characters are not allowed"
            raise ReaderError(error.name, error.position, error.character, "", reason) from None

    def peek_event(self) -> Any:
        """Return the next event; None behind the last one."""
        if self.current_event is None and self.state:
            try:
                self.current_event = self.state()
            except MarkedYAMLError as error:
                problem, context, mark = error.problem or "", error.context, error.problem_mark
                begin = error.context_mark or (mark if context else None)
                if problem.startswith("expected <block end>"):
                    problem = _BLOCK_END.get(context or "", problem)
                for pattern, text in _PROBLEMS.items():
                    problem = re.sub(rf"\A{pattern}\Z", text, problem, flags=re.DOTALL)
                if problem == "found unknown escape character" and mark:
                    mark = Mark(mark.name, mark.index - 1, mark.line, mark.column - 1, None, 0)
                is_of_token = (
                    isinstance(error, ParserError) or context == "while scanning a simple key"
                )
                if is_of_token and mark and mark.index == len(self.buffer) - 1 and mark.column:
                    # libyaml ends the last line.
                    ended = Mark(mark.name, mark.index, mark.line + 1, 0, None, 0)
                    begin, mark = ended if begin and begin.index == mark.index else begin, ended
                raise type(error)(context, begin, problem, mark, error.note) from None
        return self.current_event

    def get_event(self) -> Any:
        """Take the next event."""
        event = self.peek_event()
        self.current_event = None
        return event

    def check_event(self, *choices: Any) -> bool:
        """Report whether there is a next event, and of one of some classes."""
        event = self.peek_event()
        return event is not None and (not choices or isinstance(event, choices))

    def scan_to_next_token(self) -> None:
        """Skip what stands between tokens."""
        super().scan_to_next_token()
        while self.peek() == "\t" and (self.flow_level or not self.allow_simple_key):
            self.forward()
            super().scan_to_next_token()

    def scan_plain(self) -> ScalarToken:
        """Take a scalar without quotes."""
        start = end = self.get_mark()
        parts: list[str] = []
        spaces: list[str] = []
        while self.peek() != "#":
            length = 0
            while (letter := self.peek(length)) not in _BLANKS:
                following = self.peek(length + 1) if letter == ":" else ""
                if self.flow_level and following and following in ",?[]{}":
                    self.forward(length)
                    raise self._refused(start, "found unexpected ':'")
                if (following and following in _BLANKS) or (self.flow_level and letter in ",[]{}"):
                    break
                length += 1
            if not length:
                break
            self.allow_simple_key = False
            parts += [*spaces, self.prefix(length)]
            self.forward(length)
            end = self.get_mark()
            spaces = self.scan_plain_spaces(self.indent + 1, start)
            if not spaces or (not self.flow_level and self.column <= self.indent):
                break
        return ScalarToken("".join(parts), True, start, end)

    def scan_plain_spaces(self, indent: int, start_mark: Mark) -> list[str]:
        """Take what stands between the words of a scalar, as its value has it."""
        length = 0
        while self.peek(length) in " \t":
            length += 1
        spaces = self.prefix(length)
        self.forward(length)
        if self.peek() not in _BREAKS:
            return [spaces] if spaces else []
        taken: list[str] = super().scan_plain_spaces(indent, start_mark) or []
        while self.peek() == "\t":
            if self.column < indent:
                problem = "found a tab character that violates indentation"
                raise self._refused(start_mark, problem)
            self.forward()
        return taken

    def _refused(self, start: Mark, problem: str) -> ScannerError:
        return ScannerError("while scanning a plain scalar", start, problem, self.get_mark())


class CEmitter(Emitter, Serializer):
    """Nodes written as text."""

    def __init__(self, stream: Any, **options: Any) -> None:
        taken = ("canonical", "indent", "width", "allow_unicode", "line_break")
        Emitter.__init__(self, stream, **{name: options.get(name) for name in taken})
        taken = ("encoding", "explicit_start", "explicit_end", "version", "tags")
        Serializer.__init__(self, **{name: options.get(name) for name in taken})

    def check_simple_key(self) -> bool:
        """Report whether a key stands in a line with its value; an empty one does."""
        is_simple = super().check_simple_key()
        return is_simple or (isinstance(self.event, ScalarEvent) and not self.event.value)
