{{/* Helpers that render a policy with its settings. Do not edit or override them: values are the interface. */}}
{{/*
One policy as the cluster gets it, in the form that policyType asks for, with everything that the
values say of it. Takes root (the chart's context) and name (the policy's).
*/}}
{{- define "kyverno-policies.render" -}}
{{- if eq (include "kyverno-policies.enabled" .) "true" -}}
{{- $form := include "kyverno-policies.form" . -}}
{{- $upstream := (include "kyverno-policies.about" . | fromJson).upstream -}}
{{- if eq $form "ClusterPolicy" -}}
{{- include "kyverno-policies.renderClusterPolicy" . -}}
{{- if eq (include "kyverno-policies.doubled" .) "true" -}}
{{- include "kyverno-policies.renderCel" (merge (dict "form" "ValidatingPolicy" "doubled" true) .) -}}
{{- end -}}
{{- else if eq $form "CleanupPolicy" -}}
{{- include "kyverno-policies.renderCleanup" . -}}
{{- else if and $upstream (eq $form "ValidatingAdmissionPolicy") -}}
{{- include "kyverno-policies.renderAdmission" . -}}
{{- else -}}
{{- include "kyverno-policies.renderCel" (merge (dict "form" $form) .) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The same as ClusterPolicy, from the define kyverno-policies.policy.NAME. */}}
{{- define "kyverno-policies.renderClusterPolicy" -}}
{{- $text := include "kyverno-policies.body" . -}}
{{- if $text -}}
{{- $call := merge (dict "policy" (include "kyverno-policies.object"
  (dict "name" .name "text" $text) | fromJson) "release"
  (include "kyverno-policies.release" .root | int)) (include "kyverno-policies.call" . | fromJson) . -}}
{{- include "kyverno-policies.requireVersion" $call -}}
{{- include "kyverno-policies.refuseCel" $call -}}
{{- include "kyverno-policies.applyMetadata" $call -}}
{{- include "kyverno-policies.applySpec" $call -}}
{{- range $call.policy.spec.rules -}}
{{- $_ := set $call "rule" . -}}
{{- include "kyverno-policies.applyRule" $call -}}
{{- end -}}
{{- include "kyverno-policies.refuseUsers" $call -}}
{{- include "kyverno-policies.applyAction" $call -}}
{{- include "kyverno-policies.applyFields" (merge (dict "fields" (.root.Files.Get "data/fields.json" | fromJsonArray)) $call) -}}
{{- toYaml $call.policy -}}
{{- end -}}
{{- end -}}

{{/* A policy's text as an object, in JSON. Takes name and text. */}}
{{- define "kyverno-policies.object" -}}
{{- $policy := fromYaml .text -}}
{{- if hasKey $policy "Error" -}}
{{- fail (printf "policy %s is not YAML with these parameters: %s" .name $policy.Error) -}}
{{- end -}}
{{- toJson $policy -}}
{{- end -}}

{{/* What is said of a policy in all its forms: own and about, as JSON. */}}
{{- define "kyverno-policies.call" -}}
{{- $own := include "kyverno-policies.own" . | fromJson -}}
{{- $about := include "kyverno-policies.about" . | fromJson -}}
{{- dict "own" $own "about" $about | toJson -}}
{{- end -}}

{{/* Fails where the Kyverno here is too old for the policy. */}}
{{- define "kyverno-policies.requireVersion" -}}
{{- if lt .release (include "kyverno-policies.number" .about.minimum | int) -}}
{{- fail (printf
  "policy %s needs Kyverno %s, and this is %s; leave it out with policies.%s.enabled=false" .name
  .about.minimum (include "kyverno-policies.kyvernoVersion" .root) .name) -}}
{{- end -}}
{{- end -}}

{{/* Kind, namespace, labels and annotations. */}}
{{- define "kyverno-policies.applyMetadata" -}}
{{- if .about.upstream -}}
{{- /* v2beta1 lacks fields that the chart writes; v1 has all of it. */ -}}
{{- $_ := set .policy "apiVersion" "kyverno.io/v1" -}}
{{- end -}}
{{- if or (not .about.upstream) (eq .root.Values.policyKind "Policy") -}}
{{- $_ := set .policy "kind" (.root.Values.policyKind | default .policy.kind) -}}
{{- end -}}
{{- $namespaced := eq .policy.kind "Policy" -}}
{{- $controllers := coalesce .own.autogenControllers (index
  (.policy.metadata.annotations | default dict) "pod-policies.kyverno.io/autogen-controllers")
  .root.Values.autogenControllers -}}
{{- $annotations := dict -}}
{{- if $controllers -}}
{{- $_ := set $annotations "pod-policies.kyverno.io/autogen-controllers" $controllers -}}
{{- end -}}
{{- include "kyverno-policies.describe" (merge (dict "namespaced" $namespaced "annotations" $annotations) .) -}}
{{- end -}}

{{/*
Namespace, labels and annotations in every form. Takes, beside the policy, namespaced and
annotations (further ones).
*/}}
{{- define "kyverno-policies.describe" -}}
{{- $values := .root.Values -}}
{{- $metadata := .policy.metadata -}}
{{- if and .namespaced (not (and .about.upstream $metadata.namespace)) -}}
{{- $_ := set $metadata "namespace" .root.Release.Namespace -}}
{{- end -}}
{{- $labels := include "kyverno-policies.labels" .root | fromYaml -}}
{{- $_ := set $metadata "labels" (mergeOverwrite (dict) ($metadata.labels | default dict) $labels (.own.labels | default dict)) -}}
{{- $annotations := mergeOverwrite (dict) .about.annotations ($metadata.annotations | default dict) .annotations -}}
{{- if not (and .about.upstream (hasKey $annotations "kyverno.io/kyverno-version")) -}}
{{- $_ := set $annotations "kyverno.io/kyverno-version" (include "kyverno-policies.kyvernoVersion" .root) -}}
{{- end -}}
{{- if or $values.kubeVersionOverride (not (and .about.upstream (hasKey $annotations "kyverno.io/kubernetes-version"))) -}}
{{- $_ := set $annotations "kyverno.io/kubernetes-version"
  ($values.kubeVersionOverride | default (index .root.Chart.Annotations "chartkit/kubernetes")) -}}
{{- end -}}
{{- $severity := include "kyverno-policies.severity"
  (dict "root" .root "name" .name "severity" (index $annotations "policies.kyverno.io/severity" |
  default "")) -}}
{{- $_ := unset $annotations "policies.kyverno.io/severity" -}}
{{- if $severity -}}
{{- $_ := set $annotations "policies.kyverno.io/severity" $severity -}}
{{- end -}}
{{- $custom := include "kyverno-policies.annotations" . | fromJson -}}
{{- $_ := set $metadata "annotations" (mergeOverwrite $annotations $custom) -}}
{{- end -}}

{{/* What stands in spec, rules aside. A policy that cannot run in the background says so itself. */}}
{{- define "kyverno-policies.applySpec" -}}
{{- $spec := .policy.spec -}}
{{- $background := ternary .own.background .root.Values.background (hasKey .own "background") -}}
{{- $_ := set $spec "background" (and (ne (toString $background) "false") (ne (toString $spec.background) "false")) -}}
{{- $webhook := $spec.webhookConfiguration | default dict -}}
{{- if .about.upstream -}}
{{- if and .own.failurePolicy $webhook.failurePolicy -}}
{{- $_ := set $webhook "failurePolicy" .own.failurePolicy -}}
{{- else if not $webhook.failurePolicy -}}
{{- $_ := set $spec "failurePolicy" (coalesce .own.failurePolicy $spec.failurePolicy .root.Values.failurePolicy "Fail") -}}
{{- end -}}
{{- else -}}
{{- $_ := set $spec "failurePolicy" (coalesce .own.failurePolicy .root.Values.failurePolicy "Fail") -}}
{{- end -}}
{{- end -}}

{{/* What stands in one rule: exclusions, preconditions, requests of the background controller. */}}
{{- define "kyverno-policies.applyRule" -}}
{{- $values := .root.Values -}}
{{- $rule := .rule -}}
{{- $byRule := index ($values.policyExclude | default dict) $rule.name | default dict -}}
{{- $byPolicy := .own.exclude | default (index ($values.policyExclude | default dict) .name) | default dict -}}
{{- range keys $byRule -}}
{{- $byPolicy = omit $byPolicy . -}}
{{- end -}}
{{- $given := compact (concat (list $values.exclude $byPolicy $byRule) (include "kyverno-policies.vpolFilters" . | fromJsonArray)) -}}
{{- $_ := set . "excluding" (or .excluding (not (empty $given)) (not .about.upstream)) -}}
{{- $joined := include "kyverno-policies.joinExcludes" (dict "blocks" (prepend $given $rule.exclude) "name" .name "rule" $rule.name) -}}
{{- if and .excluding (ne $joined "null") -}}
{{- $_ := set $rule "exclude" (fromJson $joined) -}}
{{- end -}}
{{- $byRule = index ($values.policyPreconditions | default dict) $rule.name | default dict -}}
{{- $byPolicy = .own.preconditions | default (index ($values.policyPreconditions | default dict) .name) | default dict -}}
{{- range keys $byRule -}}
{{- $byPolicy = omit $byPolicy . -}}
{{- end -}}
{{- $joined = include "kyverno-policies.joinPreconditions" (dict "blocks"
  (list $rule.preconditions $byPolicy $byRule) "name" .name "rule" $rule.name) -}}
{{- if and (ne $joined "null") (or $byPolicy $byRule (not .about.upstream)) -}}
{{- $_ := set $rule "preconditions" (fromJson $joined) -}}
{{- end -}}
{{- $skip := ternary .own.skipBackgroundRequests $values.skipBackgroundRequests (hasKey .own "skipBackgroundRequests") -}}
{{- $stays := and .about.upstream (hasKey $rule "skipBackgroundRequests") (not (hasKey .own "skipBackgroundRequests")) -}}
{{- if and (kindIs "bool" $skip) (not $stays) -}}
{{- $_ := set $rule "skipBackgroundRequests" $skip -}}
{{- end -}}
{{- end -}}

{{/* Fails where exclusions name users while background scans ask the policy: Kyverno takes no such policy. */}}
{{- define "kyverno-policies.refuseUsers" -}}
{{- if and .policy.spec.background .excluding -}}
{{- range .policy.spec.rules -}}
{{- $exclude := .exclude | default dict -}}
{{- range concat (list $exclude) ($exclude.any | default list) ($exclude.all | default list) -}}
{{- if or .subjects .roles .clusterRoles -}}
{{- fail (printf (print "policy %s: users, groups and roles are excluded from it, of which a "
  "background scan knows nothing, so that Kyverno refuses the policy; set policies.%s.background: "
  "false, or background: false for all") $.name $.name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The action, where this Kyverno reads it: in spec, and from 1.13 in each validate rule too. */}}
{{- define "kyverno-policies.applyAction" -}}
{{- if .about.upstream -}}
{{- include "kyverno-policies.upstreamAction" . -}}
{{- end -}}
{{- $spec := .policy.spec -}}
{{- $action := include "kyverno-policies.action" . -}}
{{- if $action -}}
{{- $overrides := include "kyverno-policies.actionOverrides" . | fromJsonArray -}}
{{- $allow := ternary .own.allowExistingViolations .root.Values.validationAllowExistingViolations
  (hasKey .own "allowExistingViolations") -}}
{{- $inRules := ge .release 1013 -}}
{{- range $spec.rules -}}
{{- if and .validate (kindIs "bool" $allow) -}}
{{- $_ := set .validate "allowExistingViolations" $allow -}}
{{- end -}}
{{- if and .validate $inRules -}}
{{- $_ := set .validate "failureAction" $action -}}
{{- if $overrides -}}
{{- $_ := set .validate "failureActionOverrides" $overrides -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if lt .release 1009 -}}
{{- $action = lower $action -}}
{{- range $overrides -}}
{{- $_ := set . "action" (lower .action) -}}
{{- end -}}
{{- end -}}
{{- $_ := set $spec "validationFailureAction" $action -}}
{{- $_ := unset $spec "validationFailureActionOverrides" -}}
{{- if and $overrides (not $inRules) -}}
{{- $_ := set $spec "validationFailureActionOverrides" $overrides -}}
{{- end -}}
{{- end -}}
{{- end -}}
