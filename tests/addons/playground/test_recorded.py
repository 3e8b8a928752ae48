"""Recorded cases in the page: it says what the command line says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import pytest

from tests.addons.playground.browser import asked
from tests.browser.test_html_report import CHROMIUM
from tests.e2e.command import chartkit
from tests.shared import shared

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not CHROMIUM, reason="no Chromium here"),
    pytest.mark.skipif(find_spec("playwright") is None, reason="no Playwright here"),
]
_FILES: Final = {
    "cel-policies": 80,
    "generate": 30,
    "match": 40,
    "mutate": 40,
    "patterns": 50,
    "podsecurity": 30,
    "variables": 30,
}
"""The cases of each file, at equal distances."""
Row = tuple[str, ...]


def cases() -> Iterator[tuple[str, list[Any], list[Any]]]:
    for name, wanted in _FILES.items():
        lines = shared(f"conformance/engine/{name}.jsonl").read_text("utf-8").splitlines()
        plain = [case for case in map(json.loads, lines) if is_plain(case)]
        for number in range(wanted):
            case = plain[number * len(plain) // wanted]
            policies = case.get("policies") or [case["policy"]]
            yield f"{name}/{case['id']}", policies, case["resources"]


def is_plain(case: dict[str, Any]) -> bool:
    """Report whether a case has policies and objects alone."""
    others = ("values", "exceptions", "contexts", "context", "userinfo", "userInfo", "json")
    return bool(case.get("resources")) and not any(case.get(other) for other in others)


def test_300_cases_give_what_the_command_line_gives(playground_page: Path, tmp_path: Path) -> None:
    given = list(cases())
    assert len(given) == 300
    texts = [("---\n".join(map(written, policies)), "---\n".join(map(written, objects)))
             for _, policies, objects in given]  # fmt: skip
    questions = [
        ("evaluate", {"policies": policies, "objects": objects}) for policies, objects in texts
    ]
    _, answers = asked(playground_page, questions)
    differing, rows = {}, 0
    for (name, _, _), (policies, objects), answer in zip(given, texts, answers, strict=True):
        (tmp_path / "policies.yaml").write_text(policies)
        (tmp_path / "objects.yaml").write_text(objects)
        done = chartkit(tmp_path, "scan", "-p", "policies.yaml", "objects.yaml", "-o", "json")
        page, line = of_page(answer["result"]), of_command(done.out)
        rows += len(line)
        said = [
            problem["message"]
            for problem in answer["result"]["problems"]
            if problem["level"] == "error" and first_line(problem["message"]) not in done.err
        ]
        if page != line or said:
            differing[name] = (page, line, said)
    assert differing == {}
    assert rows > 1_000


def written(body: Any) -> str:
    return json.dumps(body, indent=1) + "\n"


def first_line(message: str) -> str:
    """Return what the command line shows of a message: the lines below repeat the expression."""
    return message.partition("\n")[0]


def of_page(result: dict[str, Any]) -> list[Row]:
    keys = ("policy", "rule", "kind", "namespace", "name", "status", "message")
    return sorted(tuple(row[key] for key in keys) for row in result["rows"])


def of_command(text: str) -> list[Row]:
    results = json.loads(text)["results"] if text else []
    return sorted(
        (
            row["policy"],
            row["rule"],
            *row["resource"].rsplit("/", 3)[1:],
            row["result"],
            row["message"],
        )
        for row in results
    )
