"""The permissions that new policies need, beyond the old ones'."""

from pathlib import Path

from chartkit.addons.migrate.files.report import report
from tests.addons.migrate.files.migrations import migrated
from tests.command_reports import in_format
from tests.data import from_table

_POLICY = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p}
spec:
  background: BACKGROUND
  rules:
  - name: r
    match: {any: [{resources: {kinds: [KIND]}}]}
    RULE
"""
_VALIDATE = "validate: {message: m, pattern: {metadata: {labels: {a: b}}}}"
_CLONE = (
    "generate: {synchronize: true, apiVersion: v1, kind: Secret, name: s, "
    'namespace: "{{ request.object.metadata.name }}", clone: {namespace: x, name: s}}'
)


def _needs(folder: Path, kind: str, rule: str, background: str = "true") -> list[str]:
    text = _POLICY.replace("KIND", kind).replace("RULE", rule).replace("BACKGROUND", background)
    file = folder / "p.yaml"
    file.write_text(text)
    migration = migrated(file)
    (body,) = report(migration).value()["objects"]
    needs: list[str] = body["needs"]
    for text in needs:
        assert " ".join(text.split()) in " ".join(in_format(report(migration), "text").split())
        assert "| needs |" in in_format(report(migration), "markdown")
    return needs


@from_table("kind", "resource")
def test_scans_of_what_may_not_be_read_are_told(tmp_path: Path, kind: str, resource: str) -> None:
    (need,) = _needs(tmp_path, kind, _VALIDATE)
    assert f"may not read {resource} by its chart" in need
    assert "ready: false" in need
    assert _needs(tmp_path, kind, _VALIDATE, "false") == []


def test_what_the_chart_gives_is_not_told(tmp_path: Path) -> None:
    assert _needs(tmp_path, "Pod", _VALIDATE) == []


def test_verbs_that_the_old_policy_did_not_need_are_told(tmp_path: Path) -> None:
    (need,) = _needs(tmp_path, "Namespace", _CLONE)
    assert need == "Kyverno's background controller must be allowed to watch secrets"
