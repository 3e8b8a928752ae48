{{/* Helpers that join exclude and preconditions blocks. Do not edit or override them: values are the interface. */}}
{{/*
Joins `exclude` blocks so that each of them excludes. Takes blocks (a list, empty ones allowed),
name and rule; gives JSON, null for none.
*/}}
{{- define "kyverno-policies.joinExcludes" -}}
{{- $blocks := compact .blocks -}}
{{- $where := printf "policy %s, rule %s" .name .rule -}}
{{- $any := list -}}
{{- range $blocks -}}
{{- if and .any .all -}}
{{- fail (printf "%s: exclude has any and all, and Kyverno takes one of them" $where) -}}
{{- else if and .all (gt (len .all) 1) (gt (len $blocks) 1) -}}
{{- fail (printf "%s: exclude.all with several filters cannot be joined with other exclusions; write them as exclude.any" $where) -}}
{{- end -}}
{{- $any = concat $any (.any | default list) (.all | default list) -}}
{{- if not (or (hasKey . "any") (hasKey . "all")) -}}
{{- $any = append $any . -}}
{{- end -}}
{{- end -}}
{{- if eq (len $blocks) 1 -}}
{{- first $blocks | toJson -}}
{{- else if $any -}}
{{- dict "any" $any | toJson -}}
{{- else -}}
null
{{- end -}}
{{- end -}}

{{/*
Joins `preconditions` so that all of them must hold. Takes blocks (maps with any and all, or the old
flat list), name and rule; gives JSON, null for none.
*/}}
{{- define "kyverno-policies.joinPreconditions" -}}
{{- $call := . -}}
{{- $all := list -}}
{{- $any := list -}}
{{- range .blocks -}}
{{- if kindIs "slice" . -}}
{{- $all = concat $all . -}}
{{- else if kindIs "map" . -}}
{{- $all = concat $all (.all | default list) -}}
{{- if eq (len (.any | default list)) 1 -}}
{{- $all = concat $all .any -}}
{{- else if and .any $any -}}
{{- fail (printf (print "policy %s, rule %s: two preconditions.any cannot be joined; write one of "
  "them as preconditions.all") $call.name $call.rule) -}}
{{- else if .any -}}
{{- $any = .any -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $result := dict -}}
{{- if $all -}}{{- $_ := set $result "all" $all -}}{{- end -}}
{{- if $any -}}{{- $_ := set $result "any" $any -}}{{- end -}}
{{- if $result -}}{{- toJson $result -}}{{- else -}}null{{- end -}}
{{- end -}}
