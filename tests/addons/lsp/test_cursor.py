"""The place of a cursor in YAML that need not be whole."""

from __future__ import annotations

from chartkit.addons.lsp.cursor import Step, cursor_at
from tests.data import from_table

_POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: web
  labels:
    app.kubernetes.io/name: web
spec:
  containers:
  - name: web
    image: registry.example/web:1
    env:
      - name: A
        value: "1"
      - name: B
{blank}
  - image: registry.example/side:1
    securityContext:
      capabilities:
        drop:
        - ALL
    {{- with .Values.resources }}
    resources:
      {{- toYaml . | nindent 6 }}
    {{- end }}
  volumes:
  -
""".replace("{blank}", " " * 8)


@from_table("row", "column", "path")
def test_a_path_is_found_by_indentation(row: int, column: int, path: list[Step]) -> None:
    cursor = cursor_at(_POD.split("\n"), row, column)
    assert list(cursor.path) == path
    assert cursor.types == ("v1", "Pod")


def test_siblings_are_the_keys_of_the_same_mapping() -> None:
    lines = _POD.split("\n")
    assert cursor_at(lines, 9, 5).siblings == {"name", "env"}
    assert cursor_at(lines, 8, 5).siblings == {"image", "env"}
    assert cursor_at(lines, 14, 4).siblings == {"name", "image", "env"}
    assert cursor_at(lines, 2, 0).siblings == {"apiVersion", "kind", "spec"}


def test_a_cursor_knows_whether_it_is_behind_the_key() -> None:
    lines = ["kind: Po", "spec:", "  a: '{{ to_up'"]
    assert not cursor_at(lines, 0, 2).in_value
    assert cursor_at(lines, 0, 8).in_value
    assert cursor_at(lines, 2, 14).in_variable
    assert cursor_at(lines, 2, 14).word == "to_up"
    assert not cursor_at(lines, 0, 8).in_variable


def test_documents_are_apart() -> None:
    lines = ["kind: Pod", "spec:", "---", "kind: Service", "spec:", "  a: 1"]
    assert cursor_at(lines, 5, 3).path == ("spec", "a")
    assert cursor_at(lines, 5, 3).types == ("", "Service")
    assert cursor_at(lines, 0, 3).types == ("", "Pod")


def test_a_place_behind_the_text_is_at_its_end() -> None:
    assert cursor_at([], 3, 9).path == ()
    assert cursor_at(["a: 1"], 0, 90).in_value
