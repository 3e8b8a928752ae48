"""The legacy objects of files, folders, charts and standard input."""

import io
from dataclasses import replace
from pathlib import Path

import pytest

from chartkit.addons.migrate.options import InventoryOptions
from chartkit.addons.migrate.plan.inventory import Inventory, read_inventory, without_copies
from chartkit.addons.migrate.plan.planned import Plan
from chartkit.addons.migrate.plan.report import as_json
from chartkit.documents.reader import read_text
from chartkit.errors import InputError
from chartkit.model import Severity
from tests.data import beside
from tests.unit.project.project_files import POLICY, write_policy

_TEXTS = beside(__file__)

_OPTIONS = InventoryOptions(
    paths=(),
    values=(),
    named_namespace=None,
    release="release",
    kube_version=None,
    cluster=False,
    context=None,
    record=None,
)
_POLICY = _TEXTS["policy"]
_CLEANUP = _TEXTS["cleanup"]
_EXCEPTION = _TEXTS["exception"]
_GENERATE = _TEXTS["generate"]
_NEW = "apiVersion: policies.kyverno.io/v1\nkind: PolicyException\nmetadata: {name: new}\n"


def _read(*paths: Path | str, stdin: str = "", options: InventoryOptions = _OPTIONS) -> Inventory:
    named = replace(options, paths=tuple(map(str, paths)))
    return read_inventory(named, io.StringIO(stdin), lambda _: None)


def _named(inventory: Inventory) -> list[str]:
    return [f"{each.resource.kind}/{each.resource.name}" for each in inventory.objects]


def _chart(folder: Path, template: str) -> Path:
    (folder / "templates").mkdir(parents=True)
    (folder / "Chart.yaml").write_text("apiVersion: v2\nname: shop\nversion: 1.0.0\n")
    (folder / "values.yaml").write_text("enabled: false\n")
    (folder / "templates" / "policy.yaml").write_text(template)
    return folder


def test_the_five_kinds_in_every_version(tmp_path: Path) -> None:
    texts = [
        _POLICY,
        _POLICY.replace("ClusterPolicy", "Policy").replace("v1", "v2beta1"),
        _CLEANUP.replace("VERSION", "v2"),
        _CLEANUP.replace("VERSION", "v2beta1").replace("ClusterCleanup", "Cleanup"),
        _EXCEPTION.replace("VERSION", "v2"),
        _EXCEPTION.replace("VERSION", "v2beta1"),
        _NEW,
    ]
    (tmp_path / "all.yaml").write_text("---\n".join(texts))
    found = _read(tmp_path / "all.yaml")
    assert found.faults == ()
    assert [each.resource.kind for each in found.objects] == [
        "ClusterPolicy",
        "Policy",
        "ClusterCleanupPolicy",
        "CleanupPolicy",
        "PolicyException",
        "PolicyException",
    ]
    assert [each.resource.location.line for each in found.objects][:2] == [1, 12]


@pytest.mark.parametrize(
    ("text", "replaced"),
    [
        (
            _CLEANUP.replace("VERSION", "v2alpha1"),
            ["Kyverno does not serve kyverno.io/v2alpha1: it is read as kyverno.io/v2"],
        ),
        (
            _EXCEPTION.replace("VERSION", "v2alpha1"),
            ["Kyverno does not serve kyverno.io/v2alpha1: it is read as kyverno.io/v2"],
        ),
        (
            _POLICY.replace("NAME", "p").replace(
                "spec:",
                "spec:\n  failurePolicy: Fail\n  webhookConfiguration: {failurePolicy: Ignore}",
            ),
            [
                "Kyverno does not take spec.failurePolicy: "
                "webhookConfiguration.failurePolicy takes its place"
            ],
        ),
    ],
)
def test_what_kyverno_takes_no_longer_is_replaced(text: str, replaced: list[str]) -> None:
    found = _read("-", stdin=text)
    assert found.faults == ()
    (legacy,) = found.objects
    assert (legacy.refused, list(legacy.replaced)) == ((), replaced)
    assert legacy.current is not None
    assert legacy.resource.body != legacy.current.body


def test_generate_existing_moves_to_the_rules() -> None:
    text = _GENERATE.replace("SPEC", "generateExistingOnPolicyUpdate: true")
    (legacy,) = _read("-", stdin=text).objects
    assert legacy.current is not None
    assert (
        legacy.current.body
        == read_text(
            _GENERATE.replace("  SPEC\n", "").replace(
                "generate:", "generate:\n        generateExisting: true"
            )
        )[0].body
    )


def test_a_version_is_not_the_only_fault() -> None:
    text = _CLEANUP.replace("VERSION", "v2alpha1").replace("schedule:", "shedule:")
    found = _read("-", stdin=text)
    (legacy,) = found.objects
    assert legacy.refused[0].hint == "did you mean 'schedule'?"
    assert (found.findings, bool(legacy.replaced)) == ([*legacy.refused], True)


def test_parts_of_objects_have_their_lines() -> None:
    items = "".join(f"  {line}\n" for line in _POLICY.splitlines()).replace("  api", "- api", 1)
    text = f"{_POLICY}---\napiVersion: v1\nkind: List\nitems:\n{items}"
    plain, item = _read("-", stdin=text).objects
    assert plain.locate("") == plain.resource.location
    assert [plain.locate(part).line for part in ("/spec/rules/0", "/spec/rules/0/match")] == [6, 7]
    assert plain.locate("/spec/rules/0/validate/pattern/a~1b").line == 10
    assert item.locate(item.rules[0].pointer).line == 20


def test_standard_input_and_lists() -> None:
    items = "".join(f"  {line}\n" for line in _POLICY.splitlines()).replace("  api", "- api", 1)
    text = f"apiVersion: v1\nkind: List\nitems:\n{items}---\n{_NEW}"
    assert _named(_read("-", stdin=text)) == ["ClusterPolicy/NAME"]


def test_a_folder_with_charts_and_other_files(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(_POLICY.replace("NAME", "a"))
    (tmp_path / "values.yaml").write_text("replicas: 3\n")
    escaped = _POLICY.replace("{{ request", "{{ `{{` }} request").replace("NAME", "c")
    guarded = f"{{{{- if .Values.enabled }}}}\n{escaped}{{{{- end }}}}\n"
    chart = _chart(tmp_path / "chart", guarded)
    notes: list[str] = []
    named = replace(_OPTIONS, paths=(str(tmp_path),))
    found = read_inventory(named, io.StringIO(), lambda note: notes.append(str(note)))
    assert _named(found) == ["ClusterPolicy/a"]
    assert [note.partition(" names a policy")[0] for note in notes] == [
        f"{chart}: note scan-input: the chart renders no object",
        f"{chart}/templates/policy.yaml:3: note other-values:",
    ]
    assert list(map(str, found.notes)) == notes[1:]
    findings = as_json(Plan((), found.findings, found.unread, True, found.notes))["findings"]
    assert [each["location"] for each in findings] == [f"{chart}/templates/policy.yaml:3"]
    (tmp_path / "enabled.txt").write_text("enabled: true\n")
    found = _read(tmp_path, options=replace(_OPTIONS, values=(tmp_path / "enabled.txt",)))
    assert _named(found) == ["ClusterPolicy/a", "ClusterPolicy/c"]
    assert [str(each.origin) for each in found.objects] == ["", f"chart {chart}"]
    assert found.faults == ()


def test_helm_code_outside_charts_is_named_with_its_line(tmp_path: Path) -> None:
    guarded = f"# A policy.\n{{{{- if .Values.enabled }}}}\n{_POLICY}{{{{- end }}}}\n"
    (tmp_path / "guarded.yaml").write_text(guarded)
    (tmp_path / "good.yaml").write_text(_POLICY)
    quoted = _POLICY.replace("NAME", '"{{ .Release.Name }}"')
    (tmp_path / "quoted.yaml").write_text(f"{_NEW}---\n{quoted}")
    found = _read(tmp_path)
    assert [(each.rule_id, str(each.location)) for each in found.faults] == [
        ("unread", f"{tmp_path}/guarded.yaml:2"),
        ("unread", f"{tmp_path}/quoted.yaml:7"),
    ]
    # What can be read is there all the same.
    assert [each.is_code for each in found.objects] == [False, True]


def test_templates_of_other_programs_are_not_helms(tmp_path: Path) -> None:
    (tmp_path / "role.yaml").write_text(f"{_POLICY.replace('NAME', '{{ .name }}')}")
    [fault] = _read(tmp_path).faults
    assert str(fault.location) == f"{tmp_path}/role.yaml:3:19"
    assert "render a template with its program" in (fault.hint or "")


def test_helm_code_of_a_template_names_its_chart(tmp_path: Path) -> None:
    chart = _chart(tmp_path / "chart", "{{- if .Values.enabled }}\nkind: x\n{{- end }}\n")
    (fault,) = _read(chart / "templates" / "policy.yaml").faults
    assert fault.hint == f"name the chart: {chart}"


def test_files_that_cannot_be_read_stop_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("apiVersion: v1\nkind: [\n")
    (tmp_path / "b.yaml").write_bytes(b"\xff\xfe" + _POLICY.encode("utf-16-le") + b"\xff")
    (tmp_path / "c.yaml").write_text(_POLICY)
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "metadata.yaml").write_text("title: x\n")
    (tmp_path / "own" / "policy.yaml").write_text(f"<% if x %>\na: [\n{_POLICY}")
    found = _read(tmp_path)
    assert _named(found) == ["ClusterPolicy/NAME"]
    assert [each.rule_id for each in found.faults] == ["unread"] * 3
    assert found.faults[0].hint == "correct it, or leave it out by --exclude"
    assert "policy library" in found.faults[2].message


def test_a_file_that_plainly_holds_no_object_is_a_note(tmp_path: Path) -> None:
    (tmp_path / "alerts.yaml").write_text("title: {{ .Status }}: {{ .Name }}\n")
    (tmp_path / "policy.yaml").write_text(_POLICY)
    found = _read(tmp_path)
    assert found.faults == ()
    (note,) = found.notes
    assert note.severity is Severity.NOTE
    assert note.message.startswith("holds no Kubernetes object, and is not read")
    # A file that the user names is another matter.
    assert [each.rule_id for each in _read(tmp_path / "alerts.yaml").faults] == ["unread"]


def test_a_chart_that_helm_refuses_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(_POLICY)
    _chart(tmp_path / "chart", "{{ required `say where` .Values.place }}")
    found = _read(tmp_path)
    assert _named(found) == ["ClusterPolicy/NAME"]
    (fault,) = found.faults
    assert "say where" in fault.message


def test_policies_that_kyverno_refuses_are_listed_and_named(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text(_POLICY.replace("pattern:", "patern:"))
    found = _read(tmp_path)
    assert _named(found) == ["ClusterPolicy/NAME"]
    assert found.faults == ()
    assert "patern" in found.findings[0].message
    assert all(str(each.location).startswith(f"{tmp_path}/bad.yaml:1") for each in found.findings)


def test_inputs_that_hold_nothing_are_refused(tmp_path: Path) -> None:
    (tmp_path / "values.yaml").write_text("a: 1\n")
    with pytest.raises(InputError, match="holds no Kubernetes object"):
        _read(tmp_path)
    with pytest.raises(InputError, match="no such file or folder"):
        _read(tmp_path / "gone")
    (tmp_path / "a.yaml").write_text(_POLICY)
    with pytest.raises(InputError, match="no chart is read"):
        _read(tmp_path, options=replace(_OPTIONS, values=(tmp_path / "values.yaml",)))


@pytest.mark.parametrize(
    ("options", "paths", "message"),
    [
        (_OPTIONS, (), "Missing argument"),
        (replace(_OPTIONS, context="prd"), ("a",), "--context and --record need --cluster"),
        (replace(_OPTIONS, record=Path("x")), ("a",), "--context and --record need --cluster"),
        (replace(_OPTIONS, cluster=True), ("a",), "a cluster is read alone"),
        (replace(_OPTIONS, cluster=True, kube_version="1.34"), (), "are for charts"),
    ],
)
def test_options_that_cannot_be_combined(
    options: InventoryOptions, paths: tuple[str, ...], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        _read(*paths, options=options)


def test_an_object_of_a_project_counts_once(tmp_path: Path) -> None:
    own, made = _POLICY.replace("NAME", "own"), _POLICY.replace("NAME", "made")
    label = "{labels: {app.kubernetes.io/managed-by: Helm}, name: "
    rendered = [text.replace("{name: ", label) for text in (own, made)]
    for folder, texts in {
        "policies": [own],
        "rendered/dev": rendered,
        "rendered/prd": rendered,
    }.items():
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "p.yaml").write_text("---\n".join(texts))
    (tmp_path / "rendered/prd/p.yaml").write_text("---\n".join(rendered).replace("?*", "shop-*"))
    alone = without_copies(_read(tmp_path))
    (tmp_path / "chartkit.yaml").write_text("environments: {}\n")
    found = without_copies(_read(tmp_path / "policies", tmp_path / "rendered"))
    places = {each.resource.name: each.resource.location.file for each in found.objects}
    assert (len(alone.objects), len(found.objects)) == (4, 2)
    source = next(each for each in alone.objects if each.resource.name == "own" and each.copies)
    assert list(map(str, source.copies)) == [f"{tmp_path}/rendered/dev/p.yaml:1"]
    assert places["own"] == str(tmp_path / "policies/p.yaml")


def test_a_policy_of_a_library_with_parameters_is_named(tmp_path: Path) -> None:
    """Its text may be YAML, with code in texts, and mean something else."""
    write_policy(tmp_path, "ours/p", POLICY.replace('"{name}*"', '<%= parameter("prefix") %>'))
    inventory = _read(tmp_path)
    assert not inventory.objects
    (fault,) = inventory.faults
    assert str(fault.location).endswith("ours/p/policy.yaml:1")
    assert fault.message == "has parameters of a policy library, and no values for them"
    # Beside the chart that is rendered of it, there is nothing left to be read.
    chart = tmp_path / "charts" / "kyverno-policies"
    chart.mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: kyverno-policies\nversion: 1.0.0\n")
    inventory = _read(tmp_path)
    assert not inventory.faults
    assert any("has parameters" in note.message for note in inventory.notes)
