{{/* Helpers that render a policy in CEL. Do not edit or override them: values are the interface. */}}
{{/*
One policy in CEL as the cluster gets it: its text from the define kyverno-policies.cel.NAME, with
everything that the values say of it. Takes root, name and form: ValidatingPolicy for Kyverno's
kinds, ValidatingAdmissionPolicy for Kubernetes' own; doubled: whether it stands next to the
ClusterPolicy that acts, so that it reports and refuses nothing.
*/}}
{{- define "kyverno-policies.renderCel" -}}
{{- $text := include "kyverno-policies.celBody" . -}}
{{- if $text -}}
{{- $call := merge (dict "policy" (include "kyverno-policies.object"
  (dict "name" .name "text" $text) | fromJson) "release"
  (include "kyverno-policies.release" .root | int)) (include "kyverno-policies.call" . | fromJson) . -}}
{{- $tables := .root.Files.Get "data/cel.json" | fromJson -}}
{{- $_ := set $call "kind" (trimPrefix "Namespaced" $call.policy.kind) -}}
{{- $_ := set $call "kinds" $tables.kinds -}}
{{- $_ := set $call "settings" (index $tables.settings $call.kind) -}}
{{- /* The names of its rules count where values speak of single ones. */ -}}
{{- $rules := list -}}
{{- $values := .root.Values -}}
{{- if and (not $call.about.upstream) (or $values.policyExclude $values.policyPreconditions $values.policyMatchConditions) -}}
{{- range (include "kyverno-policies.body" . | fromYaml).spec.rules -}}
{{- $rules = append $rules .name -}}
{{- end -}}
{{- end -}}
{{- $_ := set $call "rules" $rules -}}
{{- include "kyverno-policies.requireKind" $call -}}
{{- include "kyverno-policies.refusePlain" $call -}}
{{- $minimum := not (empty $call.about.upstream) | ternary dict
  (dict "policies.kyverno.io/minversion" (printf "%s.0" $call.about.celMinimum)) -}}
{{- $namespaced := hasPrefix "Namespaced" $call.policy.kind -}}
{{- include "kyverno-policies.describe" (merge (dict "namespaced" $namespaced "annotations" $minimum) $call) -}}
{{- include "kyverno-policies.applyCelScope" $call -}}
{{- include "kyverno-policies.applyCelSpec" $call -}}
{{- if eq .form "ValidatingPolicy" -}}
{{- include "kyverno-policies.applyFields" (merge (dict "fields" (index $tables.fields $call.kind)) $call) -}}
{{- end -}}
{{- $documents := list -}}
{{- range include "kyverno-policies.celActions" $call | fromJsonArray -}}
{{- $variant := merge (dict "variant" .) $call -}}
{{- if eq $call.form "ValidatingPolicy" -}}
{{- $documents = concat $documents (include "kyverno-policies.celDocuments" $variant | fromJsonArray) -}}
{{- else -}}
{{- $documents = concat $documents (include "kyverno-policies.vapDocuments" $variant | fromJsonArray) -}}
{{- end -}}
{{- end -}}
{{- range $documents }}
---
{{ toYaml . }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The text of the policy's form in CEL with its parameters; empty where they leave nothing of it. */}}
{{- define "kyverno-policies.celBody" -}}
{{- if (include "kyverno-policies.about" . | fromJson).upstream -}}
{{- include "kyverno-policies.upstream" . -}}
{{- else -}}
{{- $parameters := include "kyverno-policies.parameters" . | fromJson -}}
{{- include (printf "kyverno-policies.cel.%s" .name) (dict "root" .root "parameters" $parameters) | trim -}}
{{- end -}}
{{- end -}}

{{/* Gives the policy the kind and API version that the cluster serves; fails where it serves none. */}}
{{- define "kyverno-policies.requireKind" -}}
{{- if eq .form "ValidatingAdmissionPolicy" -}}
{{- if not (semverCompare ">=1.30-0" .root.Capabilities.KubeVersion.Version) -}}
{{- fail (printf (print "policy %s: a ValidatingAdmissionPolicy needs Kubernetes 1.30, and this is "
  "%s; set policyType: ClusterPolicy or ValidatingPolicy") .name
  .root.Capabilities.KubeVersion.Version) -}}
{{- end -}}
{{- else -}}
{{- $kind := or (eq .root.Values.policyKind "Policy")
  (hasPrefix "Namespaced" .policy.kind) | ternary (printf "Namespaced%s" .kind) .kind -}}
{{- $release := .release -}}
{{- $version := "" -}}
{{- range index .kinds $kind -}}
{{- if ge $release (int .since) -}}
{{- $version = .version -}}
{{- end -}}
{{- end -}}
{{- if not $version -}}
{{- $since := int (first (index .kinds $kind)).since -}}
{{- fail (printf
  "policy %s: Kyverno %s does not serve %s (1.%d and later do); set policyType: ClusterPolicy" .name
  (include "kyverno-policies.kyvernoVersion" .root) $kind (sub $since 1000)) -}}
{{- end -}}
{{- $_ := set .policy "kind" $kind -}}
{{- $_ := set .policy "apiVersion" (printf "policies.kyverno.io/%s" $version) -}}
{{- end -}}
{{- end -}}

{{/* "true" where this Kyverno's kind has a setting. Takes setting too. */}}
{{- define "kyverno-policies.hasSetting" -}}
{{- and (hasKey .settings .setting) (or (eq .form "ValidatingAdmissionPolicy") (ge .release
  (index .settings .setting | default 0 | int))) -}}
{{- end -}}

{{/*
What the policy leaves alone, and under which conditions it applies. Sets extended (whether it is
extended to pod controllers) and before (what of its exclusions the object before a request has to
be asked too).
*/}}
{{- define "kyverno-policies.applyCelScope" -}}
{{- $call := . -}}
{{- $values := .root.Values -}}
{{- $excludes := $values.policyExclude | default dict -}}
{{- $byPolicy := .own.exclude | default (index $excludes .name) | default dict -}}
{{- $general := concat (list $values.exclude) (include "kyverno-policies.vpolFilters" . | fromJsonArray) -}}
{{- $byRule := false -}}
{{- $answers := list -}}
{{- range .rules -}}
{{- $own := index $excludes . | default dict -}}
{{- if or $own (index ($values.policyMatchConditions | default dict) .) -}}
{{- $byRule = true -}}
{{- end -}}
{{- $blocks := append $general (merge (dict) $own $byPolicy) -}}
{{- $answers = append $answers (include "kyverno-policies.stopsExtension" (dict "blocks" $blocks)) | uniq -}}
{{- end -}}
{{- if and .about.pods (gt (len $answers) 1) -}}
{{- fail (printf (print "policy %s: what is excluded from some of its rules keeps those from being "
  "extended to pod controllers, and a policy in CEL is extended as a whole; exclude it from the "
  "policy, or set policyType: ClusterPolicy") .name) -}}
{{- end -}}
{{- if not .rules -}}
{{- $answers = append $answers (include "kyverno-policies.stopsExtension" (dict "blocks" (append $general $byPolicy))) -}}
{{- end -}}
{{- $ruleExclusions := include "kyverno-policies.vpolItems" (merge (dict "key" "excludeResourceRules") .) | fromJsonArray -}}
{{- $stops := or $ruleExclusions (has "true" $answers) -}}
{{- include "kyverno-policies.applyExtension" (merge (dict "stops" $stops) .) -}}
{{- $_ := set . "extended" (and .about.pods (not $stops)) -}}
{{- $facts := include "kyverno-policies.celFacts" (dict "name" .name "spec" .policy.spec "extended" .extended "kind" .kind) | fromJson -}}
{{- $_ := set . "facts" $facts -}}
{{- $conditions := index .policy.spec (include "kyverno-policies.conditionsKey" .) | default list -}}
{{- if not $byRule -}}
{{- $general = append $general $byPolicy -}}
{{- end -}}
{{- $excluded := include "kyverno-policies.celExcluded" (dict "facts" $facts "blocks" $general) -}}
{{- $_ := set . "before" $excluded -}}
{{- if ne $excluded "false" -}}
{{- $conditions = append $conditions (dict "name" "exclude" "expression" (include "kyverno-policies.celNot" $excluded)) -}}
{{- end -}}
{{- $conditions = concat $conditions (include "kyverno-policies.matchConditions" . | fromJsonArray) -}}
{{- $skip := ternary .own.skipBackgroundRequests $values.skipBackgroundRequests (hasKey .own "skipBackgroundRequests") -}}
{{- if eq (include "kyverno-policies.hasSetting" (merge (dict "setting" "skipBackgroundRequests") .)) "true" -}}
{{- $stays := and .about.upstream (hasKey (.policy.spec.evaluation | default dict)
  "skipBackgroundRequests") (not (hasKey .own "skipBackgroundRequests")) -}}
{{- if and (kindIs "bool" $skip) (not $stays) -}}
{{- $_ := set .policy.spec "evaluation" (mergeOverwrite (.policy.spec.evaluation | default dict) (dict "skipBackgroundRequests" $skip)) -}}
{{- end -}}
{{- else if and (eq (toString $skip) "true") (not $facts.scheduled) -}}
{{- $account := printf "system:serviceaccount:%s:kyverno-background-controller" .root.Release.Namespace -}}
{{- $expression := printf "!has(request.userInfo.username) || request.userInfo.username != %s"
  (include "kyverno-policies.celLiteral" $account) -}}
{{- $conditions = append $conditions (dict "name" "background-requests" "expression" $expression) -}}
{{- end -}}
{{- include "kyverno-policies.setConditions" (merge (dict "conditions" $conditions) .) -}}
{{- if $ruleExclusions -}}
{{- $constraints := .policy.spec.matchConstraints -}}
{{- $_ := set $constraints "excludeResourceRules" (concat ($constraints.excludeResourceRules | default list) $ruleExclusions) -}}
{{- end -}}
{{- if $byRule -}}
{{- include "kyverno-policies.applyCelRules" (merge (dict "byPolicy" $byPolicy) .) -}}
{{- end -}}
{{- end -}}

{{/* Writes the conditions, each name once. Takes conditions. */}}
{{- define "kyverno-policies.setConditions" -}}
{{- if and .conditions (not .facts.scheduled) (ne (include "kyverno-policies.hasSetting"
  (merge (dict "setting" "matchConditions") .)) "true") -}}
{{- fail (printf (print "policy %s: a %s has no match conditions, so that nothing can be excluded "
  "from it; set policyType: ClusterPolicy") .name .kind) -}}
{{- end -}}
{{- $names := list -}}
{{- range .conditions -}}
{{- if has .name $names -}}
{{- fail (printf (print "policy %s: two match conditions are named '%s'; exclude, "
  "background-requests and action are the chart's own names") $.name .name) -}}
{{- end -}}
{{- $names = append $names .name -}}
{{- end -}}
{{- if .conditions -}}
{{- $_ := set .policy.spec (include "kyverno-policies.conditionsKey" .) .conditions -}}
{{- end -}}
{{- end -}}

{{/* Where the policy has its conditions: a DeletingPolicy has them under a name of its own. */}}
{{- define "kyverno-policies.conditionsKey" -}}
{{- eq .kind "DeletingPolicy" | ternary "conditions" "matchConditions" -}}
{{- end -}}

{{/* What single rules leave alone and ask first: it stands before their validations. Takes byPolicy. */}}
{{- define "kyverno-policies.applyCelRules" -}}
{{- $call := . -}}
{{- $validations := .policy.spec.validations | default list -}}
{{- if ne (len $validations) (len .rules) -}}
{{- fail (printf (print "policy %s: its form in CEL has no validation for each rule with these "
  "parameters, so that values cannot speak of single rules") .name) -}}
{{- end -}}
{{- range $at, $rule := .rules -}}
{{- $byRule := index ($call.root.Values.policyExclude | default dict) $rule | default dict -}}
{{- $byPolicy := $call.byPolicy -}}
{{- range keys $byRule -}}
{{- $byPolicy = omit $byPolicy . -}}
{{- end -}}
{{- $passes := list -}}
{{- $excluded := include "kyverno-policies.celExcluded" (dict "facts" $call.facts "blocks" (list $byPolicy $byRule)) -}}
{{- if ne $excluded "false" -}}
{{- $passes = append $passes $excluded -}}
{{- end -}}
{{- range index ($call.root.Values.policyMatchConditions | default dict) $rule -}}
{{- $passes = append $passes (printf "!(%s)" .expression) -}}
{{- end -}}
{{- if $passes -}}
{{- $validation := index $validations $at -}}
{{- $_ := set $validation "expression" (printf "%s || (%s)" (include "kyverno-policies.celAny" $passes) $validation.expression) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/*
Which pod controllers the policy is extended to: sets controllers (kinds), and writes them down for
Kyverno, which extends by itself to all that it knows. Takes stops.
*/}}
{{- define "kyverno-policies.applyExtension" -}}
{{- $spec := .policy.spec -}}
{{- $given := coalesce .own.autogenControllers (ternary "" .root.Values.autogenControllers (hasKey $spec "autogen")) | default "" -}}
{{- if .stops -}}
{{- $given = "none" -}}
{{- end -}}
{{- $kinds := list -}}
{{- if ne $given "none" -}}
{{- $kinds = compact (splitList "," $given) -}}
{{- end -}}
{{- if and .about.pods $given (ne .form "ValidatingAdmissionPolicy") (eq
  (include "kyverno-policies.hasSetting" (merge (dict "setting" "autogen") .)) "true") -}}
{{- $resources := list -}}
{{- range $kinds -}}
{{- if eq . "ReplicationController" -}}
{{- fail (printf (print "policy %s: autogenControllers names ReplicationController, which Kyverno "
  "extends no policy in CEL to; take it out, or set policyType: ClusterPolicy") $.name) -}}
{{- end -}}
{{- $resources = append $resources (printf "%ss" (lower .)) -}}
{{- end -}}
{{- $_ := set $spec "autogen" (mergeOverwrite ($spec.autogen | default dict) (dict "podControllers" (dict "controllers" $resources))) -}}
{{- end -}}
{{- end -}}

{{/* What stands in spec beside scope and action. */}}
{{- define "kyverno-policies.applyCelSpec" -}}
{{- $spec := .policy.spec -}}
{{- $values := .root.Values -}}
{{- if eq (include "kyverno-policies.hasSetting" (merge (dict "setting" "failurePolicy") .)) "true" -}}
{{- $_ := set $spec "failurePolicy" (coalesce (ternary "Ignore" "" (not (empty .doubled))) .own.failurePolicy
  (ternary $spec.failurePolicy "" (not (empty .about.upstream))) $values.failurePolicy "Fail") -}}
{{- end -}}
{{- if and (eq .form "ValidatingPolicy") (eq (include "kyverno-policies.hasSetting" (merge (dict "setting" "background") .)) "true") -}}
{{- $evaluation := $spec.evaluation | default dict -}}
{{- $itself := ($evaluation.background | default dict).enabled -}}
{{- $background := ternary .own.background $values.background (hasKey .own "background") -}}
{{- $enabled := and (ne (toString $background) "false") (ne (toString $itself) "false") -}}
{{- if or (not $enabled) (not .about.upstream) -}}
{{- $_ := set $spec "evaluation" (mergeOverwrite $evaluation (dict "background" (dict "enabled" $enabled))) -}}
{{- end -}}
{{- end -}}
{{- $byPolicy := .own.auditAnnotations | default (index ($values.auditAnnotationsByPolicy | default dict) .name) | default dict -}}
{{- $annotations := mergeOverwrite (dict) ($values.auditAnnotations | default dict) $byPolicy -}}
{{- if and $annotations (eq (include "kyverno-policies.hasSetting" (merge (dict "setting" "auditAnnotations") .)) "true") -}}
{{- $list := list -}}
{{- range $spec.auditAnnotations -}}
{{- if not (hasKey $annotations .key) -}}
{{- $list = append $list . -}}
{{- end -}}
{{- end -}}
{{- range $key := keys $annotations | sortAlpha -}}
{{- $list = append $list (dict "key" $key "valueExpression" (index $annotations $key)) -}}
{{- end -}}
{{- $_ := set $spec "auditAnnotations" $list -}}
{{- end -}}
{{- $allow := ternary .own.allowExistingViolations $values.validationAllowExistingViolations (hasKey .own "allowExistingViolations") -}}
{{- $asked := or (not .about.upstream) (hasKey .own "allowExistingViolations") -}}
{{- if and $asked (ne (toString $allow) "false") (eq .kind "ValidatingPolicy") (eq
  (include "kyverno-policies.action" . | default (include "kyverno-policies.upstreamCelAction" .))
  "Enforce") -}}
{{- include "kyverno-policies.allowExisting" . -}}
{{- end -}}
{{- end -}}

{{/*
An update passes where the object before it violated the same rule. Variables about the object get
a twin about the one before.
*/}}
{{- define "kyverno-policies.allowExisting" -}}
{{- $spec := .policy.spec -}}
{{- $twins := list -}}
{{- $variables := list -}}
{{- range $spec.variables -}}
{{- $variables = append $variables . -}}
{{- $before := include "kyverno-policies.celBefore" (dict "text" .expression "variables" $twins) -}}
{{- if ne $before .expression -}}
{{- $twins = append $twins .name -}}
{{- $variables = append $variables (dict "name" (include "kyverno-policies.celTwin" .name) "expression" $before) -}}
{{- end -}}
{{- end -}}
{{- if $variables -}}
{{- $_ := set $spec "variables" $variables -}}
{{- end -}}
{{- $tests := list "request.operation == \"UPDATE\"" -}}
{{- $excluded := include "kyverno-policies.celBefore" (dict "text" .before "variables" list) -}}
{{- if ne $excluded .before -}}
{{- $tests = append $tests (include "kyverno-policies.celNot" $excluded) -}}
{{- end -}}
{{- range $spec.validations -}}
{{- $before := include "kyverno-policies.celBefore" (dict "text" .expression "variables" $twins) -}}
{{- $_ := set . "expression" (printf "(%s) || (%s)" .expression (join " && " (append $tests (printf "!(%s)" $before)))) -}}
{{- end -}}
{{- end -}}

{{/*
Where an action of namespaces holds, in CEL: the first that fits a request counts. Takes facts,
overrides (of actionOverrides) and action.
*/}}
{{- define "kyverno-policies.celWhere" -}}
{{- $facts := .facts -}}
{{- $action := .action -}}
{{- $found := "false" -}}
{{- range reverse .overrides -}}
{{- $tests := list -}}
{{- if hasKey . "namespaces" -}}
{{- $tests = append $tests (include "kyverno-policies.celFits" (dict "text" $facts.namespace "wildcards" .namespaces)) -}}
{{- end -}}
{{- if hasKey . "namespaceSelector" -}}
{{- $tests = append $tests (include "kyverno-policies.celNamespaceSelector" (dict "facts" $facts "selector" .namespaceSelector)) -}}
{{- end -}}
{{- $here := include "kyverno-policies.celAll" $tests -}}
{{- if eq .action $action -}}
{{- $found = include "kyverno-policies.celAny" (without (list $here $found) "false") -}}
{{- else -}}
{{- $found = include "kyverno-policies.celAll" (list (include "kyverno-policies.celNot" $here) $found) -}}
{{- end -}}
{{- end -}}
{{- $found -}}
{{- end -}}

{{/*
The policy's actions as a JSON list: suffix (of the name), action, and condition (in CEL, where
another action holds elsewhere). Namespaces with an action of their own make a second policy.
*/}}
{{- define "kyverno-policies.celActions" -}}
{{- $given := include "kyverno-policies.action" . -}}
{{- $base := $given | default (include "kyverno-policies.upstreamCelAction" .) -}}
{{- $main := dict "suffix" "" "action" $given -}}
{{- if ne (include "kyverno-policies.hasSetting" (merge (dict "setting" "action") .)) "true" -}}
{{- list (dict "suffix" "") | toJson -}}
{{- else if .doubled -}}
{{- list (dict "suffix" "" "action" "Audit") | toJson -}}
{{- else -}}
{{- $action := eq $base "Enforce" | ternary "Audit" "Enforce" -}}
{{- $other := include "kyverno-policies.celWhere" (dict "facts" .facts "overrides"
  (include "kyverno-policies.actionOverrides" . | fromJsonArray) "action" $action) -}}
{{- if eq $other "false" -}}
{{- list $main | toJson -}}
{{- else -}}
{{- $_ := set $main "condition" (include "kyverno-policies.celNot" $other) -}}
{{- list $main (dict "suffix" (printf "-%s" (lower $action)) "action" $action "condition" $other) | toJson -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/*
A copy of the policy for one of its actions, as JSON. Takes variant (of celActions) and suffix (a
further one).
*/}}
{{- define "kyverno-policies.celVariant" -}}
{{- $policy := deepCopy .policy -}}
{{- $_ := set $policy.metadata "name" (printf "%s%s%s" .name .variant.suffix (.suffix | default "")) -}}
{{- with .variant.condition -}}
{{- $_ := set $policy.spec "matchConditions" (append
  ($policy.spec.matchConditions | default list) (dict "name" "action" "expression" .)) -}}
{{- end -}}
{{- toJson $policy -}}
{{- end -}}

{{/*
Kyverno's policies for one action, as a JSON list: the policy, and where it looks at ephemeral
containers one for the requests that add them. They come to a subresource, and a policy that names
it would neither be extended to controllers nor be ready for background scans.
*/}}
{{- define "kyverno-policies.celDocuments" -}}
{{- $documents := list -}}
{{- $policy := include "kyverno-policies.celVariant" . | fromJson -}}
{{- with .variant.action -}}
{{- $_ := set $policy.spec "validationActions" (list (eq . "Enforce" | ternary "Deny" "Audit")) -}}
{{- end -}}
{{- $documents = append $documents $policy -}}
{{- $rule := first ((.policy.spec.matchConstraints | default dict).resourceRules | default list) | default dict -}}
{{- if and .about.pods (eq .kind "ValidatingPolicy") (contains "ephemeralContainers"
  (toJson .policy.spec)) (has "UPDATE" $rule.operations) (not .about.upstream) -}}
{{- $further := include "kyverno-policies.celVariant" (merge (dict "suffix" "-ephemeral") .) | fromJson -}}
{{- $_ := set $further.spec "validationActions" $policy.spec.validationActions -}}
{{- $_ := set (first $further.spec.matchConstraints.resourceRules) "resources" (list "pods/ephemeralcontainers") -}}
{{- $_ := set (first $further.spec.matchConstraints.resourceRules) "operations" (list "UPDATE") -}}
{{- $_ := set $further.spec.evaluation "background" (dict "enabled" false) -}}
{{- $_ := unset $further.spec "autogen" -}}
{{- $documents = append $documents $further -}}
{{- end -}}
{{- toJson $documents -}}
{{- end -}}
