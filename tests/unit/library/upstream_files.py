"""Libraries of policies as Kyverno reads them, for tests; `{name}` in a text is the policy's."""

from collections.abc import Mapping
from pathlib import Path

from chartkit.network.downloads.lockfile import (
    LOCK_FILE,
    Lock,
    Origin,
    SourceKind,
    digest,
    lock_text,
)

CLUSTER_POLICY = """\
# Written elsewhere.
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: {name}
  annotations:
    policies.kyverno.io/title: Require {name}
    policies.kyverno.io/category: Ours
    policies.kyverno.io/severity: high
    policies.kyverno.io/subject: Pod, Service
    policies.kyverno.io/description: Every Pod says so.
spec:
  validationFailureAction: Enforce
  background: false
  rules:
    - name: check
      match:
        any:
          - resources:
              kinds: [Pod]
      validate:
        message: "{{{{ request.object.metadata.name }}}} has no label"
        pattern:
          metadata:
            labels:
              a: "?*"
"""
RULES = """\
apiVersion: kyverno.io/v2beta1
kind: ClusterPolicy
metadata:
  name: {name}
  annotations:
    kyverno.io/kyverno-version: 1.9.0
    pod-policies.kyverno.io/autogen-controllers: none
spec:
  failurePolicy: Ignore
  webhookConfiguration: {{timeoutSeconds: 7}}
  rules:
    - name: first
      match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}
      validate:
        failureAction: Enforce
        failureActionOverrides: [{{action: Audit, namespaces: [old]}}]
        message: no
        pattern: {{metadata: {{labels: {{a: "?*"}}}}}}
    - name: second
      match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}
      validate:
        failureAction: Audit
        message: no
        pattern: {{metadata: {{labels: {{b: "?*"}}}}}}
"""
VALIDATING = """\
apiVersion: policies.kyverno.io/v1alpha1
kind: ValidatingPolicy
metadata:
  name: {name}
spec:
  validationActions: [Deny, Audit]
  matchConditions:
    - {{name: own, expression: "object.metadata.?name.orValue('') != '{{{{ a }}}}'"}}
  matchConstraints:
    resourceRules:
      - {{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}}
  validations:
    - message: no
      expression: object.spec.hostNetwork != true
"""
NAMESPACED = CLUSTER_POLICY.replace("kind: ClusterPolicy", "kind: Policy").replace(
    "  name: {name}", "  name: {name}\n  namespace: theirs"
)
CLEANUP = """\
apiVersion: kyverno.io/v2
kind: ClusterCleanupPolicy
metadata:
  name: {name}
spec:
  schedule: "*/5 * * * *"
  match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}
  exclude: {{any: [{{resources: {{kinds: [Secret]}}}}]}}
  conditions:
    all:
      - {{key: "{{{{ target.metadata.name }}}}", operator: Equals, value: a}}
"""
DELETING = """\
apiVersion: policies.kyverno.io/v1
kind: DeletingPolicy
metadata:
  name: {name}
spec:
  schedule: "*/5 * * * *"
  matchConstraints:
    resourceRules:
      - {{apiGroups: [""], apiVersions: [v1], resources: [pods]}}
"""
ADMISSION = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: {name}
spec:
  matchConstraints:
    resourceRules:
      - {{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}}
  validations:
    - expression: object.spec.replicas > 1
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {name}
spec:
  policyName: {name}
  validationActions: [Warn]
  matchResources:
    objectSelector: {{matchLabels: {{a: "{{{{ b }}}}"}}}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: another
spec:
  policyName: another
"""
GUARDED = """\
{{{{- $name := "{name}" }}}}
{{{{- if eq (include "kyverno-policies.customPolicies" (merge (dict "name" $name) .)) "true" }}}}
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: {{{{ $name }}}}
  labels:
    {{{{- include "kyverno-policies.labels" . | nindent 4 }}}}
spec:
  webhookTimeoutSeconds: {{{{ .Values.timeout | default 5 }}}}
  rules:
    - name: check
      match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}
      validate:
        message: >-
          as {{{{ .Values.validationFailureAction }}}}: {{{{ `{{{{ request.operation }}}}` }}}}
        pattern: {{metadata: {{labels: {{a: "?*"}}}}}}
    {{{{- if .Values.strict }}}}
    - name: strict
      match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}
      validate:
        message: "{{{{ request.operation }}}}"
        pattern: {{metadata: {{labels: {{b: "?*"}}}}}}
    {{{{- end }}}}
{{{{- end }}}}
"""


def vendored(project: Path, library: str, policies: Mapping[str, str]) -> Path:
    """A vendored library: a folder for each reference, the policy of its last part; gives its
    folder."""
    root = project / "vendor" / library
    for reference, text in policies.items():
        folder = root / reference
        folder.mkdir(parents=True)
        (folder / f"{folder.name}.yaml").write_text(text.format(name=folder.name))
    files = [path for path in root.rglob("*") if path.is_file() and path.name != LOCK_FILE]
    digests = {path.relative_to(root).as_posix(): digest(path.read_bytes()) for path in files}
    origin = Origin(SourceKind.FOLDER, "/theirs", "", "1")
    (root / LOCK_FILE).write_text(lock_text(Lock(origin, digests)))
    return root
