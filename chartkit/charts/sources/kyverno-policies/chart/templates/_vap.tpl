{{/* Helpers that render ValidatingAdmissionPolicies. Do not edit or override them: values are the interface. */}}
{{/*
A policy in CEL as Kubernetes' own ValidatingAdmissionPolicy with its binding. Kubernetes extends no
policy to pod controllers, so there is one for the controllers with a Pod template, and one for
CronJobs.
*/}}

{{/* The policies and bindings for one action, as a JSON list. Takes variant. */}}
{{- define "kyverno-policies.vapDocuments" -}}
{{- $call := . -}}
{{- $documents := list -}}
{{- $policy := include "kyverno-policies.vap" . | fromJson -}}
{{- $rule := first ($policy.spec.matchConstraints.resourceRules | default list) | default dict -}}
{{- $extensions := list -}}
{{- if .extended -}}
{{- $extensions = include "kyverno-policies.vapExtensions" . | fromJsonArray -}}
{{- end -}}
{{- range $extensions -}}
{{- $text := include "kyverno-policies.vap" (merge (dict "suffix" .suffix) $call) -}}
{{- $text = include "kyverno-policies.inTemplate" (dict "text" $text "path" .path) -}}
{{- $extended := fromJson $text -}}
{{- $_ := set $extended.spec.matchConstraints "resourceRules"
  (include "kyverno-policies.vapRules" (dict "kinds" .kinds "operations" $rule.operations) |
  fromJsonArray) -}}
{{- $documents = append $documents $extended -}}
{{- end -}}
{{- if and .about.pods (contains "ephemeralContainers" (toJson $policy.spec)) -}}
{{- $_ := set $rule "resources" (list "pods" "pods/ephemeralcontainers") -}}
{{- end -}}
{{- $result := list -}}
{{- range prepend $documents $policy -}}
{{- $result = append $result . -}}
{{- $result = append $result (include "kyverno-policies.vapBinding" (merge (dict "vap" .) $call) | fromJson) -}}
{{- end -}}
{{- toJson $result -}}
{{- end -}}

{{/* The policy, as JSON, with what the API server would fill in. Takes variant and suffix. */}}
{{- define "kyverno-policies.vap" -}}
{{- $policy := include "kyverno-policies.celVariant" . | fromJson -}}
{{- $_ := set $policy "apiVersion" "admissionregistration.k8s.io/v1" -}}
{{- $_ := set $policy "kind" "ValidatingAdmissionPolicy" -}}
{{- $_ := unset $policy.metadata.annotations "policies.kyverno.io/minversion" -}}
{{- $spec := pick $policy.spec "failurePolicy" "matchConstraints" "matchConditions" "variables" "validations" "auditAnnotations" -}}
{{- $defaults := dict "matchPolicy" "Equivalent" "namespaceSelector" dict "objectSelector" dict -}}
{{- $_ := set $spec "matchConstraints" (merge $spec.matchConstraints $defaults) -}}
{{- range concat ($spec.matchConstraints.resourceRules | default list) ($spec.matchConstraints.excludeResourceRules | default list) -}}
{{- $_ := set . "scope" (.scope | default "*") -}}
{{- end -}}
{{- $_ := set $policy "spec" $spec -}}
{{- toJson $policy -}}
{{- end -}}

{{/* The binding of a policy, as JSON. Takes vap (the policy) and variant. */}}
{{- define "kyverno-policies.vapBinding" -}}
{{- $actions := eq .variant.action "Enforce" | ternary (list "Deny") (list "Audit" "Warn") -}}
{{- $spec := dict "policyName" .vap.metadata.name "validationActions" $actions -}}
{{- if eq .root.Values.policyKind "Policy" -}}
{{- $selector := dict "matchLabels" (dict "kubernetes.io/metadata.name" .root.Release.Namespace) -}}
{{- $_ := set $spec "matchResources" (dict "matchPolicy" "Equivalent" "namespaceSelector" $selector "objectSelector" dict) -}}
{{- end -}}
{{- $metadata := dict "name" .vap.metadata.name "labels" .vap.metadata.labels "annotations" .vap.metadata.annotations -}}
{{- dict "apiVersion" "admissionregistration.k8s.io/v1" "kind" "ValidatingAdmissionPolicyBinding"
  "metadata" $metadata "spec" $spec | toJson -}}
{{- end -}}

{{/* What the policy is extended to, as a JSON list: suffix, path (to the Pod) and kinds. */}}
{{- define "kyverno-policies.vapExtensions" -}}
{{- $given := coalesce .own.autogenControllers (include "kyverno-policies.ownControllers" .)
  .root.Values.autogenControllers
  "DaemonSet,Deployment,Job,ReplicaSet,ReplicationController,StatefulSet,CronJob" -}}
{{- $kinds := without (splitList "," $given) "none" | sortAlpha -}}
{{- $result := list -}}
{{- with without $kinds "CronJob" -}}
{{- $result = append $result (dict "suffix" "-controllers" "path" "spec.template" "kinds" .) -}}
{{- end -}}
{{- if has "CronJob" $kinds -}}
{{- $result = append $result (dict "suffix" "-cronjobs" "path" "spec.jobTemplate.spec.template" "kinds" (list "CronJob")) -}}
{{- end -}}
{{- toJson $result -}}
{{- end -}}

{{/* The kinds that the policy's own text names, as Kyverno does by their resources; none: empty. */}}
{{- define "kyverno-policies.ownControllers" -}}
{{- $autogen := .policy.spec.autogen | default dict -}}
{{- if hasKey ($autogen.podControllers | default dict) "controllers" -}}
{{- $found := list -}}
{{- range list "CronJob" "DaemonSet" "Deployment" "Job" "ReplicaSet" "StatefulSet" -}}
{{- if has (printf "%ss" (lower .)) $autogen.podControllers.controllers -}}
{{- $found = append $found . -}}
{{- end -}}
{{- end -}}
{{- join "," $found | default "none" -}}
{{- end -}}
{{- end -}}

{{/*
A policy's text with every field of a Pod spoken of in the Pod's template; the namespace is the
controller's own. Takes text and path. Source: Kyverno's autogen of CEL policies.
*/}}
{{- define "kyverno-policies.inTemplate" -}}
{{- $text := .text -}}
{{- $path := .path -}}
{{- range $root := list "object" "oldObject" -}}
{{- range $field := list "spec" "metadata" -}}
{{- $text = $text | replace (printf "%s.%s" $root $field) (printf "%s.%s.%s" $root $path $field) -}}
{{- end -}}
{{- $text = regexReplaceAll (printf "\\b%s[.]%s[.]metadata[.]namespace\\b" $root
  (replace "." "[.]" $path)) $text (printf "%s.metadata.namespace" $root) -}}
{{- end -}}
{{- $text -}}
{{- end -}}

{{/* Rules for kinds of pod controllers, as a JSON list. Takes kinds and operations. */}}
{{- define "kyverno-policies.vapRules" -}}
{{- $groups := dict "ReplicationController" "" "CronJob" "batch" "Job" "batch" -}}
{{- $resources := dict "" list "apps" list "batch" list -}}
{{- range .kinds -}}
{{- $group := get $groups . -}}
{{- if not (hasKey $groups .) -}}
{{- $group = "apps" -}}
{{- end -}}
{{- $_ := set $resources $group (append (get $resources $group) (printf "%ss" (lower .))) -}}
{{- end -}}
{{- $rules := list -}}
{{- range $group := list "" "apps" "batch" -}}
{{- with get $resources $group -}}
{{- $rules = append $rules (dict "apiGroups" (list $group) "apiVersions"
  (list "v1") "operations" $.operations "resources" . "scope" "*") -}}
{{- end -}}
{{- end -}}
{{- toJson $rules -}}
{{- end -}}
