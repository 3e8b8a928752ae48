{{/* Helpers for upstream policies. Do not edit or override them: values are the interface. */}}
{{/*
Upstream policies (without metadata.yaml): what they say stays where values do not set it.
*/}}

{{/*
The policy's text. Helm code of its own sees copies of the values (policies.NAME.values over the
chart's), the release, the chart and the capabilities, and no files. Whatever it does, it makes the
policy that the chart was made for, and no other object.
*/}}
{{- define "kyverno-policies.upstream" -}}
{{- $context := dict -}}
{{- $about := include "kyverno-policies.about" . | fromJson -}}
{{- if $about.code -}}
{{- $own := include "kyverno-policies.own" . | fromJson -}}
{{- $values := mergeOverwrite (deepCopy .root.Values) ($own.values | default dict) -}}
{{- $context = dict "Values" $values "Release" (deepCopy .root.Release) "Chart" .root.Chart "Capabilities" .root.Capabilities -}}
{{- end -}}
{{- $text := include (printf "kyverno-policies.policy.%s" .name) $context -}}
{{- if trim $text -}}
{{- if $about.code -}}
{{- $made := fromYaml $text -}}
{{- $group := first (splitList "/" (toString $made.apiVersion)) -}}
{{- if or (ne (toString $made.kind) $about.kind) (ne $group $about.apiGroup) (ne (toString ($made.metadata | default dict).name) .name) -}}
{{- fail (printf "policy %s: its own Helm code makes something else of it than a %s of its name" .name $about.kind) -}}
{{- end -}}
{{- end -}}
{{- $text -}}
{{- end -}}
{{- end -}}

{{/*
The actions of an upstream ClusterPolicy, under those that values give namespaces. Where values
give an action, it takes the place of every one that the policy has.
*/}}
{{- define "kyverno-policies.upstreamAction" -}}
{{- $spec := .policy.spec -}}
{{- $inRules := ge .release 1013 -}}
{{- $action := include "kyverno-policies.action" . -}}
{{- $overrides := include "kyverno-policies.actionOverrides" . | fromJsonArray -}}
{{- if $action -}}
{{- range $spec.rules -}}
{{- if .validate -}}
{{- $_ := unset .validate "failureAction" -}}
{{- $_ := unset .validate "failureActionOverrides" -}}
{{- end -}}
{{- range .verifyImages -}}
{{- $_ := unset . "failureAction" -}}
{{- end -}}
{{- end -}}
{{- else -}}
{{- $itself := $spec.validationFailureAction | default "Audit" -}}
{{- $allow := .own.allowExistingViolations -}}
{{- range $spec.rules -}}
{{- if and .validate $overrides $inRules -}}
{{- $_ := set .validate "failureActionOverrides" (concat $overrides
  (.validate.failureActionOverrides | default (ternary list
  ($spec.validationFailureActionOverrides | default list) (hasKey .validate "failureAction")))) -}}
{{- $_ := set .validate "failureAction" (.validate.failureAction | default $itself | include "kyverno-policies.canonicalAction") -}}
{{- end -}}
{{- if and .validate (kindIs "bool" $allow) -}}
{{- $_ := set .validate "allowExistingViolations" $allow -}}
{{- end -}}
{{- end -}}
{{- if and $overrides (not $inRules) -}}
{{- $_ := set $spec "validationFailureActionOverrides" (concat $overrides ($spec.validationFailureActionOverrides | default list)) -}}
{{- end -}}
{{- $_ := set $spec "validationFailureAction" $itself -}}
{{- end -}}
{{- end -}}

{{/* The action of an upstream policy in CEL: Enforce where violations are denied. */}}
{{- define "kyverno-policies.upstreamCelAction" -}}
{{- $actions := .policy.spec.validationActions | default (list "Deny") -}}
{{- has "Deny" $actions | ternary "Enforce" "Audit" -}}
{{- end -}}

{{/* A policy of Kubernetes' own, and its bindings, which say what a violation comes to. */}}
{{- define "kyverno-policies.renderAdmission" -}}
{{- $text := include "kyverno-policies.body" . -}}
{{- if $text -}}
{{- $call := merge (dict "policy" (include "kyverno-policies.object"
  (dict "name" .name "text" $text) | fromJson) "form" "ValidatingAdmissionPolicy" "settings"
  (dict "matchConditions" 0) "rules" list "kind" "ValidatingAdmissionPolicy")
  (include "kyverno-policies.call" . | fromJson) . -}}
{{- include "kyverno-policies.refusePlain" $call -}}
{{- $overrides := .root.Values.validationFailureActionOverrides | default dict -}}
{{- if or $call.own.actionOverrides (index $overrides .name) -}}
{{- fail (printf (print "policy %s: actions in some namespaces are for Kyverno's policies; this one "
  "has bindings, and each names its namespaces itself") .name) -}}
{{- end -}}
{{- include "kyverno-policies.describe" (merge (dict "namespaced" false "annotations" dict) $call) -}}
{{- include "kyverno-policies.applyCelScope" $call -}}
{{- $_ := set $call.policy.spec "failurePolicy" (coalesce $call.own.failurePolicy
  $call.policy.spec.failurePolicy .root.Values.failurePolicy "Fail") -}}
{{- $action := include "kyverno-policies.action" . -}}
{{- $documents := list $call.policy -}}
{{- range $at := until (int $call.about.bindings) -}}
{{- $binding := include (printf "kyverno-policies.binding.%s.%d" $.name $at) dict | fromYaml -}}
{{- $bound := merge (dict "policy" $binding) (omit $call "policy") -}}
{{- include "kyverno-policies.describe" (merge (dict "namespaced" false "annotations" dict) $bound) -}}
{{- if and $action (hasKey $binding.spec "validationActions") -}}
{{- $_ := set $binding.spec "validationActions" (eq $action "Enforce" | ternary (list "Deny") (list "Audit" "Warn")) -}}
{{- end -}}
{{- if eq $.root.Values.policyKind "Policy" -}}
{{- $here := dict "matchLabels" (dict "kubernetes.io/metadata.name" $.root.Release.Namespace) -}}
{{- $matching := $binding.spec.matchResources | default dict -}}
{{- if $matching.namespaceSelector -}}
{{- fail (printf "policy %s: policyKind: Policy is for one namespace, and its binding selects namespaces itself" $.name) -}}
{{- end -}}
{{- $_ := set $binding.spec "matchResources" (merge (dict "namespaceSelector" $here) $matching) -}}
{{- end -}}
{{- $documents = append $documents $binding -}}
{{- end -}}
{{- range $documents }}
---
{{ toYaml . }}
{{- end -}}
{{- end -}}
{{- end -}}
