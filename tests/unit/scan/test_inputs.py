"""What is scanned, and with which values."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import pytest

from chartkit.errors import InputError
from chartkit.model import Diagnostic
from chartkit.scan.inputs import ChartOptions, read_inputs
from chartkit.scan.overlooked import overlooked
from chartkit.scan.policies import load_policies

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n"


def test_values_without_a_chart_are_refused(tmp_path: Path) -> None:
    (tmp_path / "pods").mkdir()
    (tmp_path / "pods" / "pod.yaml").write_text(POD, "utf-8")
    values = ChartOptions(values=(tmp_path / "values.yaml",))
    for paths in ([str(tmp_path / "pods" / "pod.yaml")], [str(tmp_path / "pods")], ["-"]):
        with pytest.raises(InputError, match=r"values.yaml: no chart is scanned that takes it"):
            read_inputs(paths, io.StringIO(POD), print, values)
        assert len(read_inputs(paths, io.StringIO(POD), print, ChartOptions())) == 1


def test_values_are_for_a_chart_anywhere_below(tmp_path: Path) -> None:
    templates = tmp_path / "deep" / "chart" / "templates"
    templates.mkdir(parents=True)
    (templates.parent / "Chart.yaml").write_text("apiVersion: v2\nname: c\nversion: 1.0.0\n")
    (templates / "pod.yaml").write_text(POD.replace("web", "'{{ .Values.name }}'"), "utf-8")
    (tmp_path / "values.yaml").write_text("name: mine\n", "utf-8")
    values = ChartOptions(values=(tmp_path / "values.yaml",))
    found = read_inputs([str(tmp_path / "deep")], io.StringIO(), print, values)
    assert [each.name for each in found] == ["mine"]


def _names(paths: list[str]) -> list[str]:
    return [each.name for each in read_inputs(paths, io.StringIO(), print, ChartOptions())]


def test_quoted_patterns_are_what_they_match(tmp_path: Path) -> None:
    for name in ("a/one.yaml", "a/b/two.yaml", "a/b/c.yml", "a/.hidden/no.yaml", "a/x[1].yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(POD.replace("web", Path(name).stem.strip("[1]")))
    assert _names([f"{tmp_path}/a/**/*.yaml"]) == ["two", "one", "x"]
    assert _names([f"{tmp_path}/a/*.yaml"]) == ["one", "x"]
    assert _names([f"{tmp_path}/*"]) == ["c", "two", "one", "x"]
    # A path that there is is no pattern.
    assert _names([f"{tmp_path}/a/x[1].yaml"]) == ["x"]
    with pytest.raises(InputError, match="no file or folder matches the pattern"):
        _names([f"{tmp_path}/z*.yaml"])
    with pytest.raises(InputError, match="no such file or folder"):
        _names([f"{tmp_path}/z.yaml"])


def test_compressed_files_and_ndjson_of_a_folder_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.yaml.gz").write_bytes(gzip.compress(POD.encode()))
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}}
    (tmp_path / "b.ndjson").write_text(f"{json.dumps(pod)}\n" * 2)
    (tmp_path / "c.jsonl.gz").write_bytes(gzip.compress(json.dumps(pod).encode()))
    (tmp_path / "d.tar.gz").write_bytes(b"no manifest")
    assert _names([str(tmp_path)]) == ["web", "x", "x", "x"]


def test_policies_may_be_named_by_patterns(tmp_path: Path) -> None:
    policy = (
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: NAME}\n"
        "spec: {rules: []}\n"
    )
    for name in ("one", "two"):
        (tmp_path / f"{name}.yaml").write_text(policy.replace("NAME", name))
    found = load_policies([f"{tmp_path}/*.yaml"], {})
    assert [each.policy.name for each in found.policies] == ["one", "two"]
    with pytest.raises(InputError, match="no file or folder matches the pattern"):
        load_policies([f"{tmp_path}/z*.yaml"], {})


def test_what_has_no_effect_among_objects_is_named(tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text(POD)
    (tmp_path / "kustomization.yaml").write_text("resources: [pod.yaml]\nimages: []\n")
    exception = "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: e}\n"
    (tmp_path / "exception.yaml").write_text(exception)
    policy = "apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {name: v}\n"
    (tmp_path / "http.yaml").write_text(policy + "spec:\n  evaluation:\n    mode: HTTP\n")
    notes: list[Diagnostic] = []
    found = read_inputs([str(tmp_path)], io.StringIO(), notes.append)
    assert [each.name for each in found] == ["e", "v", "web"]
    notes += overlooked(found, has_exceptions=False)
    assert [str(each.location) for each in notes] == [
        f"{tmp_path}/kustomization.yaml",
        f"{tmp_path}/exception.yaml:1",
        f"{tmp_path}/http.yaml:6:5",
    ]
    assert notes[0].hint == f"kustomize build {tmp_path} | chartkit scan -"
    assert notes[1].hint == f"--exceptions {tmp_path}/exception.yaml honours it"
    assert [each.location for each in overlooked(found, has_exceptions=True)] == [notes[2].location]
