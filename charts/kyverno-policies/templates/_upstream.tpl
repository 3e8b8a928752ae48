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

{{/*
A policy of Kubernetes' own, and its bindings, which say what a violation comes to. Namespaces with
an action of their own make a second policy, to which the same bindings bind.
*/}}
{{- define "kyverno-policies.renderAdmission" -}}
{{- $text := include "kyverno-policies.body" . -}}
{{- if $text -}}
{{- $call := merge (dict "policy" (include "kyverno-policies.object"
  (dict "name" .name "text" $text) | fromJson) "form" "ValidatingAdmissionPolicy" "settings"
  (dict "matchConditions" 0) "rules" list "kind" "ValidatingAdmissionPolicy")
  (include "kyverno-policies.call" . | fromJson) . -}}
{{- include "kyverno-policies.refusePlain" $call -}}
{{- include "kyverno-policies.describe" (merge (dict "namespaced" false "annotations" dict) $call) -}}
{{- include "kyverno-policies.applyCelScope" $call -}}
{{- $_ := set $call.policy.spec "failurePolicy" (coalesce $call.own.failurePolicy
  $call.policy.spec.failurePolicy .root.Values.failurePolicy "Fail") -}}
{{- $bindings := include "kyverno-policies.admissionBindings" $call | fromJsonArray -}}
{{- range $variant := include "kyverno-policies.admissionActions"
  (merge (dict "bindings" $bindings) $call) | fromJsonArray }}
---
{{ include "kyverno-policies.celVariant" (merge (dict "variant" $variant) $call) | fromJson | toYaml }}
{{- range $bindings }}
---
{{ include "kyverno-policies.admissionBinding" (dict "binding" . "variant" $variant) | fromJson | toYaml }}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The bindings of a policy of Kubernetes' own, as a JSON list, with the action that values give. */}}
{{- define "kyverno-policies.admissionBindings" -}}
{{- $call := . -}}
{{- $action := include "kyverno-policies.action" . -}}
{{- $bindings := list -}}
{{- range $at := until (int .about.bindings) -}}
{{- $binding := include (printf "kyverno-policies.binding.%s.%d" $call.name $at) dict | fromYaml -}}
{{- $bound := merge (dict "policy" $binding) (omit $call "policy") -}}
{{- include "kyverno-policies.describe" (merge (dict "namespaced" false "annotations" dict) $bound) -}}
{{- if and $action (hasKey $binding.spec "validationActions") -}}
{{- $_ := set $binding.spec "validationActions" (eq $action "Enforce" | ternary (list "Deny") (list "Audit" "Warn")) -}}
{{- end -}}
{{- if eq $call.root.Values.policyKind "Policy" -}}
{{- $here := dict "matchLabels" (dict "kubernetes.io/metadata.name" $call.root.Release.Namespace) -}}
{{- $matching := $binding.spec.matchResources | default dict -}}
{{- if $matching.namespaceSelector -}}
{{- fail (printf "policy %s: policyKind: Policy is for one namespace, and its binding selects namespaces itself" $call.name) -}}
{{- end -}}
{{- $_ := set $binding.spec "matchResources" (merge (dict "namespaceSelector" $here) $matching) -}}
{{- end -}}
{{- $bindings = append $bindings $binding -}}
{{- end -}}
{{- toJson $bindings -}}
{{- end -}}

{{/*
The actions of a policy of Kubernetes' own as a JSON list: suffix (of the names), action (of its
bindings there, none: their own) and condition (in CEL). Takes bindings, of which those without
actions have none to change.
*/}}
{{- define "kyverno-policies.admissionActions" -}}
{{- $call := . -}}
{{- $actions := list -}}
{{- range .bindings -}}
{{- if hasKey .spec "validationActions" -}}
{{- $actions = append $actions (has "Deny" .spec.validationActions | ternary "Enforce" "Audit") | uniq -}}
{{- end -}}
{{- end -}}
{{- $overrides := include "kyverno-policies.actionOverrides" . | fromJsonArray -}}
{{- if not $actions -}}
{{- $specific := .root.Values.validationFailureActionOverrides | default dict -}}
{{- if or .own.actionOverrides (index $specific .name) -}}
{{- fail (printf "policy %s: actions in some namespaces are for policies that refuse; it has no binding with actions" .name) -}}
{{- end -}}
{{- $overrides = list -}}
{{- end -}}
{{- $others := list -}}
{{- $rest := list -}}
{{- range $action := list "Audit" "Enforce" -}}
{{- $found := include "kyverno-policies.celWhere" (dict "facts" $call.facts "overrides" $overrides "action" $action) -}}
{{- if and (ne $found "false") (ne (join "," $actions) $action) -}}
{{- $others = append $others (dict "suffix" (printf "-%s" (lower $action)) "action" $action "condition" $found) -}}
{{- $rest = append $rest (include "kyverno-policies.celNot" $found) -}}
{{- end -}}
{{- end -}}
{{- $main := dict "suffix" "" -}}
{{- if $rest -}}
{{- $_ := set $main "condition" (include "kyverno-policies.celAll" $rest) -}}
{{- end -}}
{{- prepend $others $main | toJson -}}
{{- end -}}

{{/* A copy of a binding for a variant (of admissionActions), as JSON. Takes binding and variant. */}}
{{- define "kyverno-policies.admissionBinding" -}}
{{- $binding := deepCopy .binding -}}
{{- $_ := set $binding.metadata "name" (printf "%s%s" $binding.metadata.name .variant.suffix) -}}
{{- $_ := set $binding.spec "policyName" (printf "%s%s" $binding.spec.policyName .variant.suffix) -}}
{{- if and .variant.action (hasKey $binding.spec "validationActions") -}}
{{- $_ := set $binding.spec "validationActions" (eq .variant.action "Enforce" | ternary (list "Deny") (list "Audit" "Warn")) -}}
{{- end -}}
{{- toJson $binding -}}
{{- end -}}
