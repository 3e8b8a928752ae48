{{/* Helpers for the versions of Kyverno and Kubernetes. Do not edit or override them: values are the interface. */}}
{{/*
The Kyverno version as it is known, empty where it is not: `kyvernoVersion`, or with `autodetect`
the image of the admission controller in the release's namespace (`kyverno` before Kyverno 1.10).
*/}}
{{- define "kyverno-policies.knownVersion" -}}
{{- $given := .Values.kyvernoVersion | default "autodetect" -}}
{{- if ne $given "autodetect" -}}
{{- trimPrefix "v" $given -}}
{{- else -}}
{{- $found := lookup "apps/v1" "Deployment" .Release.Namespace "kyverno-admission-controller" -}}
{{- if not $found -}}
{{- $found = lookup "apps/v1" "Deployment" .Release.Namespace "kyverno" -}}
{{- end -}}
{{- with $found -}}
{{- with first .spec.template.spec.containers -}}
{{- include "kyverno-policies.imageVersion" .image -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/*
The cluster's version where no Kyverno of this chart's environments supports it. Offline, Helm makes a version up: it knows
the APIs of its own client then, to which the aggregator's, which every API server has, do not belong.
*/}}
{{- define "kyverno-policies.unsupported" -}}
{{- if .Capabilities.APIVersions.Has "apiregistration.k8s.io/v1" -}}
{{- if not (semverCompare (index .Chart.Annotations "chartkit/kubernetes") .Capabilities.KubeVersion.Version) -}}
{{- .Capabilities.KubeVersion.Version -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The version in an image's tag, without its v; empty for a tag that is not a version. */}}
{{- define "kyverno-policies.imageVersion" -}}
{{- regexFind ":v?[0-9]+[.][0-9]+[^@:/]*(@|$)" . | trimPrefix ":" | trimPrefix "v" | trimSuffix "@" -}}
{{- end -}}

{{/* The Kyverno version that the policies are written for: as known, or the chart's own. */}}
{{- define "kyverno-policies.kyvernoVersion" -}}
{{- include "kyverno-policies.knownVersion" . | default (trimPrefix "v" .Chart.AppVersion) -}}
{{- end -}}

{{/* A version as a number that orders: 1012 for 1.12.5. */}}
{{- define "kyverno-policies.number" -}}
{{- $minor := regexFind "^[0-9]+[.][0-9]+" . -}}
{{- if not $minor -}}
{{- fail (printf "'%s' is not a version of Kyverno; write it as 1.19, or autodetect" .) -}}
{{- end -}}
{{- $parts := splitList "." $minor -}}
{{- add (mul 1000 (first $parts | int)) (last $parts | int) -}}
{{- end -}}

{{/* The number of the Kyverno version that the policies are written for. */}}
{{- define "kyverno-policies.release" -}}
{{- include "kyverno-policies.kyvernoVersion" . | include "kyverno-policies.number" -}}
{{- end -}}
