"""The rules of `.helmignore`.

Source: Helm, pkg/ignore; Go, path/filepath.Match.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

FILE: Final = ".helmignore"
_ALWAYS: Final = "templates/.?*"
_BOM: Final = "\ufeff"


@dataclass(frozen=True, slots=True)
class _Rule:
    pattern: re.Pattern[str]
    whole: bool
    negated: bool
    folders: bool

    def matches(self, name: str) -> bool:
        return bool(self.pattern.fullmatch(name if self.whole else name.rpartition("/")[2]))


class IgnoreRules:
    """Decides which files of a chart Helm leaves out."""

    def __init__(self, text: str) -> None:
        """text: the content of `.helmignore`. A rule that Helm refuses ends them: Helm says why."""
        self._rules: list[_Rule] = []
        for line in [*text.removeprefix(_BOM).splitlines(), _ALWAYS]:
            rule = line.strip()
            if not rule or rule.startswith("#"):
                continue
            pattern = _translated(rule)
            if "**" in rule or pattern is None:
                return
            self._rules.append(_parsed(rule))

    def __call__(self, name: str, folder: bool) -> bool:
        """Return true for a file or folder that is left out; name: its path in the chart."""
        for rule in self._rules:
            if rule.negated:
                if (rule.folders and not folder) or not rule.matches(name):
                    return True
            elif (folder or not rule.folders) and rule.matches(name):
                return True
        return False


def _parsed(rule: str) -> _Rule:
    negated, rule = rule.startswith("!"), rule.removeprefix("!")
    folders, rule = rule.endswith("/"), rule.removesuffix("/")
    pattern = _translated(rule.removeprefix("/")) or re.compile("(?!)")
    return _Rule(pattern, "/" in rule, negated, folders)


def _translated(pattern: str) -> re.Pattern[str] | None:
    """A pattern of Go as a regular expression, None where it is malformed."""
    made, at = "", 0
    while at < len(pattern):
        character = pattern[at]
        at += 1
        if character == "*":
            made += "[^/]*"
        elif character == "?":
            made += "[^/]"
        elif character == "[":
            found = _CLASS.match(pattern, at)
            if found is None:
                return None
            made += _class(found[1] == "^", found[2])
            at = found.end()
        elif character == "\\":
            if at == len(pattern):
                return None
            made += re.escape(pattern[at])
            at += 1
        else:
            made += re.escape(character)
    return re.compile(made, re.DOTALL)


_CLASS: Final = re.compile(r"(\^?)((?:(?:\\.|[^\\\]-])(?:-(?:\\.|[^\\\]-]))?)+)\]", re.DOTALL)
_MEMBER: Final = re.compile(r"\\?(.)(?:-\\?(.))?", re.DOTALL)


def _class(negated: bool, members: str) -> str:
    ranges = [(low, high or low) for low, high in _MEMBER.findall(members)]
    # A range the wrong way round matches nothing.
    inside = "".join(f"{re.escape(a)}-{re.escape(b)}" for a, b in ranges if a <= b)
    if not inside:
        return "." if negated else "(?!)"
    return f"[{'^' if negated else ''}{inside}]"
