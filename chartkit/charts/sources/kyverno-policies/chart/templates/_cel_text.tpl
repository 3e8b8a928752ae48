{{/* Helpers that write literals and tests in CEL. Do not edit or override them: values are the interface. */}}
{{/*
Texts in CEL. What values hold becomes literals here, never code.
*/}}

{{/*
A value as CEL says it: JSON is CEL. Kyverno writes `object.spec` and `object.metadata` anew for pod
controllers wherever it finds them; an escaped dot keeps a literal from that.
*/}}
{{- define "kyverno-policies.celLiteral" -}}
{{- toJson . | replace "object." "object\\u002e" | replace "Object." "Object\\u002e" -}}
{{- end -}}

{{/* Whether a text fits one of some wildcards. Takes text (in CEL) and wildcards (a list). */}}
{{- define "kyverno-policies.celFits" -}}
{{- $literals := list -}}
{{- $wild := list -}}
{{- $everything := false -}}
{{- range .wildcards -}}
{{- if regexMatch "^[*]+$" . -}}
{{- $everything = true -}}
{{- else if regexMatch "[*?]" . -}}
{{- $wild = append $wild (regexQuoteMeta . | replace "\\*" ".*" | replace "\\?" ".") -}}
{{- else -}}
{{- $literals = append $literals . -}}
{{- end -}}
{{- end -}}
{{- $tests := list -}}
{{- if eq (len $literals) 1 -}}
{{- $tests = append $tests (printf "%s == %s" .text (include "kyverno-policies.celLiteral" (first $literals))) -}}
{{- else if $literals -}}
{{- $tests = append $tests (printf "%s in %s" .text (include "kyverno-policies.celLiteral" $literals)) -}}
{{- end -}}
{{- if $wild -}}
{{- $expression := printf "(?s)^(%s)$" (join "|" $wild) -}}
{{- $tests = append $tests (printf "%s.matches(%s)" .text (include "kyverno-policies.celLiteral" $expression)) -}}
{{- end -}}
{{- if $everything -}}true{{- else -}}{{- include "kyverno-policies.celAny" $tests -}}{{- end -}}
{{- end -}}

{{/* At least one of some conditions; false for none. Takes a list. */}}
{{- define "kyverno-policies.celAny" -}}
{{- if not . -}}false
{{- else if has "true" . -}}true
{{- else if eq (len .) 1 -}}{{- first . -}}
{{- else -}}({{- join " || " . -}})
{{- end -}}
{{- end -}}

{{/* All of some conditions; true for none. Takes a list. */}}
{{- define "kyverno-policies.celAll" -}}
{{- $tests := without . "true" -}}
{{- if not $tests -}}true
{{- else if has "false" $tests -}}false
{{- else if eq (len $tests) 1 -}}{{- first $tests -}}
{{- else -}}({{- join " && " $tests -}})
{{- end -}}
{{- end -}}

{{/* The opposite of a condition. */}}
{{- define "kyverno-policies.celNot" -}}
{{- if eq . "true" -}}false{{- else if eq . "false" -}}true{{- else -}}{{- printf "!(%s)"
  (regexReplaceAll "^\\(([^()]*)\\)$" . "${1}") -}}{{- end -}}
{{- end -}}

{{/*
The same expression about the object before the request. Takes text and variables, the names of
those that have a twin for it (oldName). Literals and names after a dot stay as they are. What says
nothing of either is one piece, however long: a template walks over few pieces fast, and over every
word and blank of an expression slowly.
*/}}
{{- define "kyverno-policies.celBefore" -}}
{{- $variables := .variables -}}
{{- $literal := "//[^\n]*|[rR]\"[^\"]*\"|[rR]'[^']*'|\"(?:\\\\.|[^\"\\\\])*\"|'(?:\\\\.|[^'\\\\])*'" -}}
{{- $other := "[A-Za-np-uw-z_][A-Za-z0-9_]*|[.]\\s*[A-Za-z_][A-Za-z0-9_]*|[^A-Za-z_\"'/.]+|[\"'/.]" -}}
{{- $word := "variables\\s*[.]\\s*[A-Za-z_][A-Za-z0-9_]*|[ov][A-Za-z0-9_]*" -}}
{{- range regexFindAll (printf "(?s)(?:%s|%s)+|%s" $literal $other $word) .text -1 -}}
{{- if eq . "object" -}}
oldObject
{{- else if hasPrefix "variables" . -}}
{{- $name := splitList "." . | last | trim -}}
{{- if and (contains "." .) (has $name $variables) -}}
{{- trimSuffix $name . -}}{{- include "kyverno-policies.celTwin" $name -}}
{{- else -}}
{{- . -}}
{{- end -}}
{{- else -}}
{{- . -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The name of a variable's twin about the object before the request. */}}
{{- define "kyverno-policies.celTwin" -}}
old{{- upper (substr 0 1 .) -}}{{- substr 1 (len .) . -}}
{{- end -}}
