"""What is changed, what is left alone, and what a person decides."""

from pathlib import Path

from click.testing import CliRunner

from chartkit.cli.scan import scan
from tests.addons.satisfy.fix.runs import fix, written
from tests.data import beside

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {hostNetwork: true, containers: []}\n"


def _rule(name: str, body: str) -> str:
    return f"""\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {{name: {name}}}
spec:
  rules:
    - name: {name}
      match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}
      {body}
"""


def test_a_person_decides_on_values_that_a_policy_leaves_open(tmp_path: Path) -> None:
    team = _rule(
        "team", "validate: {message: no team, pattern: {metadata: {labels: {team: '?*'}}}}"
    )
    objects = written(tmp_path, pod=POD, **{"policies/team": team})
    done = fix(objects)
    assert (objects / "pod.yaml").read_text() == POD.replace("true", "false")
    lines = done.stdout.splitlines()
    assert lines[0] == f"fixed {objects}/pod.yaml: 1 violation of 1 object, 1 field"
    assert lines[1] == "a person decides:"
    assert lines[2].startswith("  Pod/a team/team: metadata.labels.team: ")
    assert lines[3] == f"    {objects}/pod.yaml:3:1"
    assert done.exit_code == 1


def test_rules_that_want_opposites_are_listed(tmp_path: Path) -> None:
    opposite = _rule("opposite", "validate: {message: m, pattern: {spec: {hostNetwork: true}}}")
    objects = written(tmp_path, pod=POD, **{"policies/opposite": opposite})
    done = fix(objects)
    assert (objects / "pod.yaml").read_text() == POD
    assert "  Pod/a pods/host: a fix breaks opposite/opposite\n" in done.stdout


def test_nothing_is_fixed_that_a_mutation_fixes(tmp_path: Path) -> None:
    mutation = _rule("mutation", "mutate: {patchStrategicMerge: {spec: {hostNetwork: false}}}")
    text = POD.replace("[]", "[{name: x}]")
    objects = written(tmp_path, pod=text, **{"policies/mutation": mutation})
    assert fix(objects).exit_code == 0
    after = "[{name: x, securityContext: {allowPrivilegeEscalation: false}}]"
    assert (objects / "pod.yaml").read_text() == POD.replace("[]", after)


def test_containers_of_a_mutation_are_not_in_the_file(tmp_path: Path) -> None:
    sidecar = "mutate: {patchStrategicMerge: {spec: {containers: [{name: side, image: s}]}}}"
    text = POD.replace("[]", "[{name: x}]")
    objects = written(tmp_path, pod=text, **{"policies/sidecar": _rule("sidecar", sidecar)})
    done = fix(objects)
    assert "Pod/a pods/escalation: is about a part that a mutation or a default adds" in done.stdout
    assert (objects / "pod.yaml").read_text() == text.replace("true", "false")


def test_suppressed_violations_are_left_alone(tmp_path: Path) -> None:
    note = "{chartkit.dev/suppress: '[{policy: pods, rule: host, reason: a CNI}]'}"
    text = POD.replace("{name: a}", f"{{name: a, annotations: {note}}}")
    objects = written(tmp_path, pod=text)
    done = fix(objects)
    assert (objects / "pod.yaml").read_text() == text
    assert done.exit_code == 0


def test_violations_of_a_baseline_are_left_alone(tmp_path: Path) -> None:
    objects = written(tmp_path, pod=POD)
    baseline = str(tmp_path / "baseline.yaml")
    policies = str(tmp_path / "policies")
    known = [str(objects), "-p", policies, "--baseline", baseline, "--update-baseline"]
    assert CliRunner().invoke(scan, known).exit_code == 0
    assert fix(objects, "--baseline", baseline).exit_code == 0
    assert (objects / "pod.yaml").read_text() == POD


def test_exceptions_are_left_alone(tmp_path: Path) -> None:
    exception = beside(__file__)["exception"]
    objects = written(tmp_path, pod=POD, **{"exceptions/e": exception})
    fix(objects, "--exceptions", str(tmp_path / "exceptions"))
    assert (objects / "pod.yaml").read_text() == POD


def test_only_selected_results_are_fixed(tmp_path: Path) -> None:
    text = POD.replace("[]", "[{name: x, securityContext: {privileged: true}}]")
    objects = written(tmp_path, pod=text)
    fix(objects, "--select", "rule:host")
    assert (objects / "pod.yaml").read_text() == text.replace(
        "hostNetwork: true", "hostNetwork: false"
    )


def test_fewest_changes_end_all_violations(tmp_path: Path) -> None:
    """A profile of the whole Pod does for all containers, and no field is set that need not be."""
    text = (
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\nspec:\n  containers:\n"
        "  - name: x\n    image: x:1\n  - name: y\n    image: y:1\n"
    )
    objects = written(tmp_path, pod=text)
    done = fix(objects, "-p", "pss-restricted", "--skip", "policy:pods")
    assert done.exit_code == 0, done.stdout
    container = (
        "    securityContext:\n      capabilities:\n        drop:\n        - ALL\n"
        "      allowPrivilegeEscalation: false\n"
    )
    assert (objects / "pod.yaml").read_text() == (
        f"apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\nspec:\n  containers:\n"
        f"  - name: x\n    image: x:1\n{container}  - name: y\n    image: y:1\n{container}"
        "  securityContext:\n    runAsNonRoot: true\n    seccompProfile:\n"
        "      type: RuntimeDefault\n"
    )


def test_items_of_a_list_go_one_after_the_other_and_nothing_empty_stays(tmp_path: Path) -> None:
    """Two rules take one item each."""
    text = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - name: x\n"
        "    securityContext:\n      capabilities:\n        add:\n        - NET_RAW\n"
        "        - CHOWN\n"
    )
    objects = written(tmp_path, pod=text)
    done = fix(objects, "-p", "pss-restricted", "--select", "rule:adding-*")
    assert done.exit_code == 0, done.stdout
    assert (objects / "pod.yaml").read_text().endswith("  - name: x\n"), done.stdout


def test_an_object_of_many_values_is_listed(tmp_path: Path) -> None:
    notes = ", ".join(f"n{number}: x" for number in range(5_001))
    text = POD.replace("{name: a}", f"{{name: a, annotations: {{{notes}}}}}")
    objects = written(tmp_path, pod=text)
    said = "Pod/a pods/host: the object has more than 5,000 values\n"
    assert f"not fixed:\n  {said}" in fix(objects).stdout
    assert (objects / "pod.yaml").read_text() == text


def test_an_object_is_not_made_another_one(tmp_path: Path) -> None:
    """A rule that takes Windows as well, and an exemption by a label, are no fixes."""
    either = (
        "validate: {message: m, anyPattern: [{spec: {os: {name: windows}}},"
        " {metadata: {labels: {exempt: 'true'}}}, {spec: {hostNetwork: false}}]}"
    )
    objects = written(tmp_path, pod=POD, **{"policies/either": _rule("either", either)})
    assert fix(objects, "--select", "policy:either").exit_code == 0
    assert (objects / "pod.yaml").read_text() == POD.replace("true", "false")


def test_a_file_that_is_named_twice_is_changed_once(tmp_path: Path) -> None:
    text = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - name: x\n"
        "    securityContext: {capabilities: {add: [CHOWN, SYS_TIME, KILL]}}\n"
    )
    objects = written(tmp_path, pod=text)
    file = str(objects / "pod.yaml")
    given = ("-p", "pss-restricted", "--select", "policy:disallow-capabilities")
    done = fix(objects, file, *given, path=file)
    assert done.exit_code == 0, done.stdout
    assert "add: [CHOWN, KILL]" in (objects / "pod.yaml").read_text()
