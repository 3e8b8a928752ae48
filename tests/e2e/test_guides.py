"""What people who write about running Kyverno do with it, each as a policy of our own."""

from pathlib import Path

import pytest

from tests.e2e.command import chartkit

POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: cart
  labels: {app: cart}
spec:
  containers:
    - {name: app, image: "reg.example.com/cart:1"}
"""

ADD_TEAM = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: default-team}
spec:
  rules:
    - name: give-a-team
      match: {any: [{resources: {kinds: [Pod]}}]}
      mutate:
        patchStrategicMerge:
          metadata:
            labels:
              +(team): platform
"""

NO_ESCALATION = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: no-escalation}
spec:
  validationFailureAction: audit
  rules:
    - name: no-escalation
      match: {any: [{resources: {kinds: [Pod]}}]}
      validate:
        message: Containers must not gain privileges.
        pattern:
          spec:
            =(ephemeralContainers):
              - securityContext: {allowPrivilegeEscalation: "false"}
            =(initContainers):
              - securityContext: {allowPrivilegeEscalation: "false"}
            containers:
              - securityContext: {allowPrivilegeEscalation: "false"}
"""

SIDECAR = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: log-agent}
spec:
  rules:
    - name: add-agent
      match: {any: [{resources: {kinds: [Deployment]}}]}
      mutate:
        patchStrategicMerge:
          spec:
            template:
              metadata:
                annotations:
                  (logs.example.com/collect): "yes please"
              spec:
                containers:
                  - name: log-agent
                    image: reg.example.com/log-agent:2
                    volumeMounts: [{name: spool, mountPath: /spool}]
                volumes:
                  - name: spool
                    emptyDir: {medium: Memory}
"""

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: cart}
spec:
  selector: {matchLabels: {app: cart}}
  template:
    metadata:
      labels: {app: cart}
      annotations: {logs.example.com/collect: "WANTED"}
    spec:
      containers:
        - {name: app, image: "reg.example.com/cart:1"}
"""

GRACE = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: graceful}
spec:
  schemaValidation: false
  rules:
    - name: grace-period
      match: {any: [{resources: {kinds: [Pod], operations: [CREATE]}}]}
      context:
        - name: sleep
          variable:
            jmesPath: request.object.metadata.labels.sleepSeconds
            default: 30
      mutate:
        patchStrategicMerge:
          spec:
            terminationGracePeriodSeconds: "OPEN add(to_number(sleep), `15`) CLOSE"
    - name: pre-stop
      match: {any: [{resources: {kinds: [Pod], operations: [CREATE]}}]}
      context:
        - name: sleep
          variable:
            jmesPath: request.object.metadata.labels.sleepSeconds
            default: 30
      mutate:
        patchesJson6902: |-
          - op: add
            path: /spec/containers/0/lifecycle/preStop/exec/command
            value: [/bin/sh, -c, "sleep OPEN sleep CLOSE"]
"""


def preview(folder: Path, policy: str, text: str) -> str:
    """The diff that `chartkit preview` shows of one object."""
    (folder / "policy.yaml").write_text(policy)
    (folder / "object.yaml").write_text(text)
    done = chartkit(folder, "preview", "object.yaml", "-p", "policy.yaml")
    assert done.code == 0
    warning = "policy-warning: graceful: spec.schemaValidation has no effect"
    assert all(warning in line for line in done.err.splitlines())
    return done.out


@pytest.mark.slow
def test_a_label_is_added_where_it_is_missing(tmp_path: Path) -> None:
    assert "+    team: platform" in preview(tmp_path, ADD_TEAM, POD)
    labelled = POD.replace("{app: cart}", "{app: cart, team: shop}")
    assert "platform" not in preview(tmp_path, ADD_TEAM, labelled)


@pytest.mark.slow
@pytest.mark.parametrize(("allowed", "status"), [("false", "pass"), ("true", "fail")])
def test_privilege_escalation(tmp_path: Path, allowed: str, status: str) -> None:
    context = f"securityContext: {{allowPrivilegeEscalation: {allowed}}}"
    (tmp_path / "pod.yaml").write_text(POD.replace('cart:1"}', f'cart:1", {context}}}'))
    (tmp_path / "policy.yaml").write_text(NO_ESCALATION)
    done = chartkit(tmp_path, "scan", "pod.yaml", "-p", "policy.yaml", "--detailed")
    assert f"{status}  no-escalation/no-escalation (Audit)" in done.out
    assert done.code == (1 if status == "fail" else 0)


@pytest.mark.slow
def test_a_sidecar_goes_to_who_asks_for_it(tmp_path: Path) -> None:
    wanted = preview(tmp_path, SIDECAR, DEPLOYMENT.replace("WANTED", "yes please"))
    assert "image: reg.example.com/log-agent:2" in wanted
    assert "medium: Memory" in wanted
    assert "log-agent" not in preview(tmp_path, SIDECAR, DEPLOYMENT.replace("WANTED", "no"))


@pytest.mark.slow
@pytest.mark.parametrize(("labels", "seconds"), [("", 30), (", sleepSeconds: '5'", 5)])
def test_a_pod_gets_time_to_stop(tmp_path: Path, labels: str, seconds: int) -> None:
    pod = POD.replace("{app: cart}", f"{{app: cart{labels}}}")
    shown = preview(tmp_path, GRACE.replace("OPEN", "{{").replace("CLOSE", "}}"), pod)
    assert f"+  terminationGracePeriodSeconds: {seconds + 15}" in shown
    assert f"sleep {seconds}" in shown


@pytest.mark.slow
def test_the_same_policy_escaped_for_helm(tmp_path: Path) -> None:
    chart = tmp_path / "policies"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: policies\nversion: 0.1.0\n")
    # A raw Go string cannot hold the backticks of a JMESPath literal: to_number does without.
    escaped = GRACE.replace("`15`", "to_number('15')")
    escaped = escaped.replace("OPEN", "{{ `{{").replace("CLOSE", "}}` }}")
    (chart / "templates" / "graceful.yaml").write_text(escaped)
    (tmp_path / "object.yaml").write_text(POD)
    done = chartkit(tmp_path, "preview", "object.yaml", "-p", "policies")
    assert "+  terminationGracePeriodSeconds: 45" in done.out


@pytest.mark.slow
def test_sum_of_two_numbers_is_an_error_that_names_it(tmp_path: Path) -> None:
    wrong = GRACE.replace("add(", "sum(").replace("OPEN", "{{").replace("CLOSE", "}}")
    (tmp_path / "policy.yaml").write_text(wrong)
    (tmp_path / "object.yaml").write_text(POD)
    done = chartkit(tmp_path, "scan", "object.yaml", "-p", "policy.yaml")
    assert done.code == 1
    assert "sum" in done.out + done.err
