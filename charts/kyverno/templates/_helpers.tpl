{{/* Helpers for containers, images and Pods. Do not edit or override them: values are the interface. */}}
{{/* The cluster's version where Kyverno does not support it. Offline, Helm makes a version up: it knows the APIs of its
own client then, to which the aggregator's, which every API server has, do not belong. */}}
{{- define "kyverno.unsupported" -}}
{{- if .Capabilities.APIVersions.Has "apiregistration.k8s.io/v1" -}}
{{- if not (semverCompare (index .Chart.Annotations "chartkit/kubernetes") .Capabilities.KubeVersion.Version) -}}
{{- .Capabilities.KubeVersion.Version -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* A value as YAML; templates inside its strings are run. (list root value) */}}
{{- define "kyverno.tpl" -}}
{{- $text := toYaml (index . 1) -}}
{{- if contains "{{" $text }}{{ tpl $text (index . 0) }}{{ else }}{{ $text }}{{ end -}}
{{- end }}

{{/* Those fields that are not empty, as YAML. (list root fields); without a root no templates are run */}}
{{- define "kyverno.fields" -}}
{{- $kept := dict -}}
{{- range $key, $value := index . 1 }}{{ if $value }}{{ $_ := set $kept $key $value }}{{ end }}{{ end -}}
{{- if and $kept (index . 0) }}{{ include "kyverno.tpl" (list (index . 0) $kept) }}
{{- else if $kept }}{{ toYaml $kept }}{{ end -}}
{{- end }}

{{/* What selects a component's pods. (list root component) */}}
{{- define "kyverno.selector" -}}
{{- $root := index . 0 -}}
{{- dict
  "app.kubernetes.io/component" (index . 1)
  "app.kubernetes.io/instance" $root.Release.Name
  "app.kubernetes.io/part-of" (include "kyverno.fullname" $root)
| toYaml -}}
{{- end }}

{{/* Labels of any object. (dict root component [app] [labels]) */}}
{{- define "kyverno.labels" -}}
{{- $labels := dict -}}
{{- if .component }}{{ $labels = include "kyverno.selector" (list .root .component) | fromYaml }}{{ end -}}
{{- if .app }}{{ $_ := set $labels "app.kubernetes.io/name" .app }}{{ end -}}
{{- $_ := set $labels "app.kubernetes.io/version" (include "kyverno.version" .root) -}}
{{- if not .root.Values.global.templating.enabled -}}
{{- $_ := set $labels "helm.sh/chart" (printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace
  "+" "_" | trunc 63 | trimSuffix "-") -}}
{{- $_ := set $labels "app.kubernetes.io/managed-by" .root.Release.Service -}}
{{- end -}}
{{- $extra := include "kyverno.tpl" (list .root (.labels | default dict)) | fromYaml -}}
{{- merge $labels $extra .root.Values.customLabels | toYaml -}}
{{- end }}

{{/* metadata of any object. (dict root name component [app] [labels] [annotations] [namespace: false for none, or another]) */}}
{{- define "kyverno.metadata" -}}
metadata:
  name: {{ toJson .name }}
  {{- if ne (.namespace | toString) "false" }}
  namespace: {{ .namespace | default (include "kyverno.namespace" .root) | toJson }}
  {{- end }}
  labels:
    {{- include "kyverno.labels" . | nindent 4 }}
  {{- with .annotations }}
  annotations:
    {{- include "kyverno.tpl" (list $.root .) | nindent 4 }}
  {{- end }}
{{- end }}

{{/* One command line argument. (list flag value) */}}
{{- define "kyverno.flag" -}}
{{- $value := index . 1 }}
{{- if not (kindIs "string" $value) }}{{ $value = toJson $value }}{{ end }}
{{ printf "--%s=%s" (index . 0) $value | list | toYaml }}
{{- end }}

{{/* The arguments of a map; what is empty or false is left out */}}
{{- define "kyverno.extraArgs" -}}
{{- range $flag, $value := . }}{{ if $value }}{{ include "kyverno.flag" (list $flag $value) }}{{ end }}{{ end -}}
{{- end }}

{{/* An image's name. (dict registry image tag): registry and tag are what the image falls back to */}}
{{- define "kyverno.image" -}}
{{- $repository := required "an image needs a repository" .image.repository -}}
{{- $tag := .image.tag | default .tag -}}
{{- $registry := .image.registry | default .registry | default .image.defaultRegistry -}}
{{- printf "%s:%s" (compact (list $registry $repository) | join "/") $tag | toJson -}}
{{- end }}

{{- define "kyverno.pullSecrets" -}}
{{- $names := list }}
{{- range index . 1 }}{{ $names = append $names .name }}{{ end }}
{{- $secrets := list }}
{{- range sortAlpha $names }}{{ $secrets = append $secrets (dict "name" .) }}{{ end }}
{{- include "kyverno.fields" (list (index . 0) (dict "imagePullSecrets" $secrets)) }}
{{- end }}

{{/* affinity from the three values that make it. (list root values) */}}
{{- define "kyverno.affinity" -}}
{{- $values := index . 1 }}
{{- $parts := pick $values "nodeAffinity" "podAffinity" "podAntiAffinity" }}
{{- if not (dig "antiAffinity" "enabled" true $values) }}{{ $parts = omit $parts "podAntiAffinity" }}{{ end }}
{{- include "kyverno.fields" (list (index . 0) $parts) }}
{{- end }}

{{/* Where a token that kubelet renews is mounted instead of the service account's own */}}
{{- define "kyverno.tokenMount" -}}
- name: serviceaccount-token
  mountPath: /var/run/secrets/kubernetes.io/serviceaccount
  readOnly: true
{{- end }}

{{- define "kyverno.tokenVolume" -}}
- name: serviceaccount-token
  projected:
    defaultMode: 0444
    sources:
    - serviceAccountToken:
        expirationSeconds: {{ .expirationSeconds | default 3600 | int64 }}
        path: token
        {{- with .audience }}
        audience: {{ toJson . }}
        {{- end }}
    - configMap:
        name: kube-root-ca.crt
        items: [{key: ca.crt, path: ca.crt}]
    - downwardAPI:
        items:
        - path: namespace
          fieldRef: {apiVersion: v1, fieldPath: metadata.namespace}
{{- end }}

{{- define "kyverno.tracing" -}}
{{- if .enabled }}
- --enableTracing
{{- include "kyverno.flag" (list "tracingAddress" (.address | default "")) }}
{{- include "kyverno.flag" (list "tracingPort" (.port | default "")) }}
{{- with .creds }}{{ include "kyverno.flag" (list "tracingCreds" .) }}{{ end }}
{{- end }}
{{- end }}

{{/* Where a controller's metrics go. (list metering name): name begins the names of its certificates' Secrets */}}
{{- define "kyverno.metering" -}}
{{- $name := index . 1 }}
{{- with index . 0 }}{{ if not .disabled }}
{{- include "kyverno.flag" (list "otelConfig" .config) }}
{{- include "kyverno.flag" (list "metricsPort" .port) }}
{{- if .secure }}
- --metricsCASecretName={{ $name }}.kyverno-tls-ca
- --metricsTLSSecretName={{ $name }}.kyverno-tls-pair
- --metricsKeyAlgorithm={{ .tlsKeyAlgorithm | default "RSA" }}
{{- end }}
{{- with .collector }}{{ include "kyverno.flag" (list "otelCollector" .) }}{{ end }}
{{- with .creds }}{{ include "kyverno.flag" (list "transportCreds" .) }}{{ end }}
{{- end }}{{ end }}
{{- end }}

{{/* An init container that holds a controller back until the reports server answers */}}
{{- define "kyverno.waitForReports" -}}
{{- if and .Values.reportsServer.enabled .Values.reportsServer.waitForReady -}}
- name: wait-for-reports-server
  image: {{ include "kyverno.image" (dict "registry" .Values.global.image.registry "image" .Values.test.image "tag" .Chart.AppVersion) }}
  imagePullPolicy: {{ .Values.test.image.pullPolicy | default "IfNotPresent" }}
  args:
  - check-endpoints
  - --service-name={{ .Release.Name }}-reports-server
  - --namespace={{ .Release.Namespace }}
  - --timeout={{ .Values.reportsServer.readinessTimeout }}
  securityContext:
    allowPrivilegeEscalation: false
    capabilities: {drop: [ALL]}
    privileged: false
    readOnlyRootFilesystem: true
    runAsGroup: 65534
    runAsNonRoot: true
    runAsUser: 65534
    seccompProfile: {type: RuntimeDefault}
  resources:
    limits: {cpu: 100m, memory: 128Mi}
    requests: {cpu: 10m, memory: 32Mi}
{{- end -}}
{{- end }}

{{/* A Service with one port. (dict root component app name settings port target [protocol]) */}}
{{- define "kyverno.service" -}}
---
apiVersion: v1
kind: Service
{{ include "kyverno.metadata" (merge (dict "annotations" .settings.annotations) .) }}
spec:
  ports:
  - name: {{ .port }}
    port: {{ int64 .settings.port }}
    targetPort: {{ .target }}
    protocol: TCP
    {{- with .protocol }}
    appProtocol: {{ . }}
    {{- end }}
    {{- $type := .settings.type | default .settings.serviceType }}
    {{- if and .settings.nodePort (eq $type "NodePort") }}
    nodePort: {{ int64 .settings.nodePort }}
    {{- end }}
  selector:
    {{- include "kyverno.selector" (list .root .component) | nindent 4 }}
  type: {{ $type }}
  {{- with .settings.trafficDistribution }}
  trafficDistribution: {{ . }}
  {{- end }}
{{- end }}

{{/* metadata of a custom resource definition. (list root name) */}}
{{- define "kyverno.crdMetadata" -}}
{{- $root := index . 0 }}
{{- with $root.Values.crds }}
{{- include "kyverno.metadata" (dict "root" $root "name"
  (index $ 1) "component" "crds" "namespace" "false" "labels" .customLabels "annotations"
  .annotations) }}
{{- end }}
{{- end }}
