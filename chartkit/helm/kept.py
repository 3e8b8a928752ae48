"""Keeps Helm's answers about charts for the next run, by all that they depend on, and tells which
templates and policies depend on the time or on chance."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from chartkit.cache_folder import Store, code_digest, digest_of
from chartkit.helm.model import DryRun, Finding, Target, Texts
from chartkit.model import Body, Json

if TYPE_CHECKING:
    from chartkit.helm.gateway import Backend
    from chartkit.helm.sandbox.process import Limits

_STORE: Final = "helm"
_TIME_ZONE: Final = "TZ"
_PACKED: Final = ".tgz"
_TEMPLATES: Final = "templates/"
_OTHERWISE: Final = re.compile(
    rb"\b(?:rand[A-Z]\w*|gen[A-Z]\w*|shuffle|uuidv4|htpasswd|bcrypt|encryptAES|getHostByName"
    rb"|time_now\w*|time_since|random)\b"
    rb"|\btime\s*\.\s*now\b|[(|]\s*(?:now|ago)\b"
)
"""Functions of Helm's templates, of JMESPath and of CEL whose value comes from the clock, from
chance or from elsewhere."""
_CLOCK: Final = re.compile(rb"\b(?:now|ago)\b")
"""Functions that are words of any text, and count at the end of a template's action alone."""
_COMMENT: Final = re.compile(rb"\{\{-?\s*/\*")
_COMMENT_END: Final = re.compile(rb"\*/\s*-?\}\}")


class KeptResults:
    """A `Backend` that asks another one each question once, also over several runs.

    Errors are never kept, nor what the clock or chance may have decided: functions of these in a
    template that comes to nothing do not count, as rendering shows. Charts are checked copies,
    which do not change.
    """

    def __init__(self, backend: Backend, identity: str) -> None:
        """identity: what tells the Helm in use from any other."""
        self._backend = backend
        self._identity = identity
        self._store = Store(_STORE)
        self._repeatable: set[str] = set()

    def within(self, limits: Limits) -> Backend:
        """Return the other one alone with these limits: it is asked where Helm was stopped."""
        return self._backend.within(limits)

    def start(self) -> None:
        """Do nothing: the other one starts with the first question that is new."""

    def close(self) -> None:
        self._backend.close()

    def render(self, chart: Path, values: Body, target: Target) -> Texts:
        key = self._key("render", _subject(chart, values), target)
        stored = self._store.load(key)
        if stored is not None:
            texts = Texts(stored["files"], tuple(stored["warnings"]))
        else:
            texts = self._backend.render(chart, values, target)
        if not may_differ(templates_of(values)) and _comes_to_nothing(_content(chart)[1], texts):
            self._repeatable.add(_subject(chart, values))
            if stored is None:
                entry = {"files": dict(texts.files), "warnings": texts.warnings}
                self._save(key, chart, entry)
        return texts

    def admit(self, chart: Path, target: Target) -> None:
        key = self._key("admit", (chart / "Chart.yaml").read_text("utf-8", "replace"), target)
        if self._store.load(key) is None:
            self._backend.admit(chart, target)
            self._save(key, chart, True)

    def dry_run(self, chart: Path, values: Body, target: Target) -> DryRun:
        def ask() -> Json:
            run = self._backend.dry_run(chart, values, target)
            return [run.notes, run.manifest]

        return DryRun(*self._asked("dry_run", chart, values, target, ask))

    def lint(self, chart: Path, values: Body, target: Target, schema: bool = True) -> list[Finding]:
        def ask() -> Json:
            findings = self._backend.lint(chart, values, target, schema)
            return [[finding.severity, finding.path, finding.message] for finding in findings]

        do = "lint" if schema else "lint without schema"
        return [Finding(*row) for row in self._asked(do, chart, values, target, ask)]

    def _asked(
        self, do: str, chart: Path, values: Body, target: Target, ask: Callable[[], Json]
    ) -> Any:
        subject = _subject(chart, values)
        key = self._key(do, subject, target)
        answer = self._store.load(key)
        if answer is None:
            answer = ask()
            if subject in self._repeatable:
                self._save(key, chart, answer)
        return answer

    def _key(self, do: str, subject: str, target: Target) -> str:
        cluster = [target.release, target.namespace, target.kube_version, *target.api_versions]
        around = [code_digest(), self._identity, os.environ.get(_TIME_ZONE)]
        return digest_of(*around, do, subject, cluster)

    def _save(self, key: str, chart: Path, value: Json) -> None:
        """Keep an answer, unless it speaks of the copy."""
        if str(chart) not in str(value):
            self._store.save(key, value)


def _subject(chart: Path, values: Body) -> str:
    return digest_of(_content(chart)[0], values)


@lru_cache(maxsize=64)
def _content(chart: Path) -> tuple[str, frozenset[str]]:
    """A digest of a chart's name and files, and the files that may name clock or chance."""
    digest = hashlib.sha256(os.fsencode(chart.name))
    by_chance = set[str]()
    files = (path for path in chart.rglob("*") if path.is_file())
    for name, path in sorted((path.relative_to(chart).as_posix(), path) for path in files):
        content = path.read_bytes()
        encoded = os.fsencode(name)
        digest.update(b"%d:%s%d:" % (len(encoded), encoded, len(content)))
        digest.update(content)
        if name.endswith(_PACKED) or may_differ([content]):
            by_chance.add(name)
    return digest.hexdigest(), frozenset(by_chance)


def _comes_to_nothing(names: Iterable[str], texts: Texts) -> bool:
    """Report whether all files of a chart are templates that render to nothing."""
    shown = {name.partition("/")[2] for name, text in texts.files.items() if text.strip()}
    return all(
        name.startswith(_TEMPLATES) and not Path(name).name.startswith("_") and name not in shown
        for name in names
    )


def may_differ(texts: Iterable[str | bytes]) -> bool:
    """Report whether templates or policies may give another result the next time. The time that
    this takes grows with their length alone."""
    return any(_read(text) if isinstance(text, str) else _may_differ(text) for text in texts)


@lru_cache(maxsize=512)
def _read(text: str) -> bool:
    """Environments share most of their texts: each is looked through once."""
    return _may_differ(text.encode("utf-8", "replace"))


def _may_differ(given: bytes) -> bool:
    parts: list[bytes] = []
    at = 0
    while begin := _COMMENT.search(given, at):
        end = _COMMENT_END.search(given, begin.end())
        if end is None:
            break
        parts.append(given[at : begin.start()])
        at = end.end()
    text = b"".join([*parts, given[at:]])
    if _OTHERWISE.search(text):
        return True
    if not _CLOCK.search(text):
        return False
    actions = text.split(b"}}")[:-1]
    return any(
        _CLOCK.search(action, max(action.rfind(b"{"), action.rfind(b"}")) + 1) for action in actions
    )


def templates_of(values: Json) -> Iterator[str]:
    """Yield the texts of values, keys included, that a template may evaluate."""
    if isinstance(values, str):
        yield from (values,) if "{{" in values else ()
    elif isinstance(values, (dict, list)):
        for value in (*values, *values.values()) if isinstance(values, dict) else values:
            yield from templates_of(value)
