"""`chartkit scan --timings`: what each policy, rule and context entry took."""

import json
from pathlib import Path

import yaml

from tests.data import beside
from tests.e2e.command import chartkit

_TEXTS = beside(__file__)
POLICY = _TEXTS["policy"]
POD = "apiVersion: v1\nkind: Pod\nmetadata: {{name: p-{}}}\n---\n"


def _folder(folder: Path, pods: int = 12) -> Path:
    (folder / "policy.yaml").write_text(POLICY)
    (folder / "pods.yaml").write_text("".join(map(POD.format, range(pods))))
    return folder


def test_a_table_follows_the_report(tmp_path: Path) -> None:
    arguments = ("scan", "pods.yaml", "-p", "policy.yaml")
    plain = chartkit(_folder(tmp_path), *arguments)
    timed = chartkit(tmp_path, *arguments, "--timings")
    assert timed.code == plain.code == 1
    report, _, table = timed.out.rpartition("\n\n")
    assert f"{report}\n" == plain.out
    head, policy, rule, entry = table.splitlines()
    assert head.split()[-5:] == ["TOTAL", "ms", "MEAN", "ms", "SHARE"]
    assert [policy.split()[0], *rule.split()[:2], *entry.split()[:2]] == [
        "names",
        *("short", "12"),
        *("size", "12"),
    ]
    assert policy.split()[-1] == rule.split()[-1] == "100.0%"


def test_programs_get_the_same_as_rows(tmp_path: Path) -> None:
    arguments = ("scan", "pods.yaml", "-p", "policy.yaml", "--timings", "--jobs", "2", "-o")
    _folder(tmp_path)
    in_json = json.loads(chartkit(tmp_path, *arguments, "json").out)["timings"]
    in_yaml = yaml.safe_load(chartkit(tmp_path, *arguments, "yaml").out)["timings"]
    last = chartkit(tmp_path, *arguments, "ndjson").out.splitlines()[-1]
    for rows in (in_json, in_yaml, json.loads(last)["timings"]):
        names = [(row["policy"], row.get("rule"), row.get("entry")) for row in rows]
        assert names == [
            ("names", None, None),
            ("names", "short", None),
            ("names", "short", "size"),
        ]
        assert [row.get("objects") for row in rows] == [None, 12, 12]


def test_there_are_none_unless_they_are_wanted(tmp_path: Path) -> None:
    done = chartkit(_folder(tmp_path), "scan", "pods.yaml", "-p", "policy.yaml", "-o", "json")
    assert "timings" not in json.loads(done.out)
