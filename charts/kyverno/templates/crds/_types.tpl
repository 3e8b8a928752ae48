{{/* The types of the custom resource definitions, as OpenAPI schemas. Do not edit or override them: values are the interface. */}}
{{- define "type.AdmissionRequestInfo" }}{"type":"object",{{/*
  */}}"properties":{"operation":{"type":"string"},"admissionRequest":{"type":"object",{{/*
  */}}"properties":{"uid":{"type":"string"},"kind":{{ template "type.GroupVersionKind" . }},{{/*
  */}}"resource":{{ template "type.GroupVersionResource" . }},"subResource":{"type":"string"},{{/*
  */}}"requestKind":{{ template "type.GroupVersionKind" . }},"requestResource":{{ template
  "type.GroupVersionResource" . }},"requestSubResource":{"type":"string"},"name":{"type":"string"},{{/*
  */}}"namespace":{"type":"string"},"operation":{"type":"string"},"userInfo":{{ template
  "type.UserInfo" . }},"object":{"type":"object","x-kubernetes-preserve-unknown-fields":true},{{/*
  */}}"oldObject":{"type":"object","x-kubernetes-preserve-unknown-fields":true},{{/*
  */}}"options":{"type":"object","x-kubernetes-preserve-unknown-fields":true},{{/*
  */}}"dryRun":{"type":"boolean"}}}}}{{ end }}
{{- define "type.AdmissionRule" }}{"type":"object","x-kubernetes-map-type":"atomic",{{/*
  */}}"properties":{"apiGroups":{"type":"array","items":{"type":"string"}},{{/*
  */}}"apiVersions":{"type":"array","items":{"type":"string"}},"resources":{"type":"array",{{/*
  */}}"items":{"type":"string"}},"resourceNames":{"type":"array","items":{"type":"string"}},{{/*
  */}}"operations":{"type":"array","items":{"type":"string"}},"scope":{"type":"string"}}}{{ end }}
{{- define "type.AnyAllConditions" }}{"type":"object","x-kubernetes-preserve-unknown-fields":true,{{/*
  */}}"properties":{"any":{"type":"array","items":{{ template "type.Condition" . }}},{{/*
  */}}"all":{"type":"array","items":{{ template "type.Condition" . }}}}}{{ end }}
{{- define "type.ArtifactType" }}{"type":"object","properties":{"type":{"type":"string"}},"required":["type"]}{{ end }}
{{- define "type.AttestationConditions" }}{"type":"object","properties":{"any":{"type":"array",{{/*
  */}}"items":{{ template "type.Condition" . }}},"all":{"type":"array","items":{{ template
  "type.Condition" . }}}}}{{ end }}
{{- define "type.Attestor" }}{"type":"object","properties":{"count":{"type":"integer","minimum":1,{{/*
  */}}"description":"how many of the entries must verify; all where empty"},{{/*
  */}}"entries":{"type":"array","items":{{ template "type.AttestorEntry" . }}}}}{{ end }}
{{- define "type.AttestorEntry" }}{"type":"object","properties":{"keys":{"type":"object",{{/*
  */}}"properties":{"publicKeys":{"type":"string"},"secret":{{ template "type.SecretReference" . }},{{/*
  */}}"kms":{"type":"string"},"signatureAlgorithm":{"type":"string","default":"sha256"},"rekor":{{
  template "type.Rekor" . }},"ctlog":{{ template "type.CTLog" . }}}},"keyless":{"type":"object",{{/*
  */}}"properties":{"subject":{"type":"string"},"subjectRegExp":{"type":"string"},{{/*
  */}}"issuer":{"type":"string"},"issuerRegExp":{"type":"string"},"roots":{"type":"string"},{{/*
  */}}"additionalExtensions":{"type":"object","additionalProperties":{"type":"string"}},"rekor":{{
  template "type.Rekor" . }},"ctlog":{{ template "type.CTLog" . }}}},{{/*
  */}}"certificates":{"type":"object","properties":{"cert":{"type":"string"},{{/*
  */}}"certChain":{"type":"string"},"rekor":{{ template "type.Rekor" . }},"ctlog":{{ template
  "type.CTLog" . }}}},"attestor":{"x-kubernetes-preserve-unknown-fields":true,{{/*
  */}}"description":"nested"},"annotations":{"type":"object",{{/*
  */}}"additionalProperties":{"type":"string"}},"repository":{"type":"string"},{{/*
  */}}"signatureAlgorithm":{"type":"string","default":"sha256"}}}{{ end }}
{{- define "type.AuditAnnotation" }}{"type":"object","properties":{"key":{"type":"string"},{{/*
  */}}"valueExpression":{"type":"string","description":"CEL"}},"required":["key","valueExpression"]}{{
  end }}
{{- define "type.CELPolicyException" }}{"type":"object","description":"Lets resources off policies {{/*
  */}}of this group","properties":{"apiVersion":{"type":"string"},"kind":{"type":"string"},{{/*
  */}}"metadata":{"type":"object"},"spec":{"type":"object","properties":{ {{ if ge . 1019 }}{{/*
  */}}"evaluationMode":{"type":"string"},{{ end }} {{ if ge . 1019 }}"expiresAt":{"type":"string",{{/*
  */}}"format":"date-time"},{{ end }} {{ if ge . 1019 }}"properties":{"type":"object",{{/*
  */}}"additionalProperties":{"type":"string"}},{{ end }}"policyRefs":{"type":"array",{{/*
  */}}"items":{"type":"object","properties":{"kind":{"type":"string"},"name":{"type":"string"}},{{/*
  */}}"required":["kind","name"]}},"matchConditions":{"type":"array","items":{{ template
  "type.MatchCondition" . }}},"images":{"type":"array","items":{"type":"string"}},{{/*
  */}}"allowedValues":{"type":"array","items":{"type":"string"}},"reportResult":{"type":"string",{{/*
  */}}"enum":["skip","pass"],"default":"skip"}},"required":["policyRefs"]}},"required":["spec"]}{{
  end }}
{{- define "type.CELValidation" }}{"type":"object","properties":{"expression":{"type":"string",{{/*
  */}}"description":"CEL; false is a violation"},"message":{"type":"string"},{{/*
  */}}"messageExpression":{"type":"string","description":"CEL"},"reason":{"type":"string"}},{{/*
  */}}"required":["expression"]}{{ end }}
{{- define "type.CELVariable" }}{"type":"object","x-kubernetes-map-type":"atomic",{{/*
  */}}"properties":{"name":{"type":"string"},"expression":{"type":"string","description":"CEL"}},{{/*
  */}}"required":["name","expression"]}{{ end }}
{{- define "type.CTLog" }}{"type":"object","properties":{"ignoreSCT":{"type":"boolean"},{{/*
  */}}"pubkey":{"type":"string"},"tsaCertChain":{"type":"string"}}}{{ end }}
{{- define "type.CleanupPolicy" }}{"type":"object","description":"Deletes resources on a schedule",{{/*
  */}}"properties":{"apiVersion":{"type":"string"},"kind":{"type":"string"},{{/*
  */}}"metadata":{"type":"object"},"spec":{"type":"object",{{/*
  */}}"properties":{"schedule":{"type":"string","description":"cron"},"match":{{ template
  "type.MatchFilters" . }},"exclude":{{ template "type.MatchFilters" . }},"conditions":{{ template
  "type.StrictConditions" . }},"context":{"type":"array","items":{{ template "type.ContextEntry" . }}{{/*
  */}}},"deletionPropagationPolicy":{"type":"string","enum":["Foreground","Background","Orphan"]}},{{/*
  */}}"required":["schedule","match"]},"status":{"type":"object",{{/*
  */}}"properties":{"conditions":{"type":"array","items":{{ template "type.StatusCondition" . }}},{{/*
  */}}"lastExecutionTime":{"type":"string","format":"date-time"}}}},"required":["spec"]}{{ end }}
{{- define "type.Condition" }}{"type":"object",{{/*
  */}}"properties":{"key":{"x-kubernetes-preserve-unknown-fields":true,"description":"what is {{/*
  */}}compared, usually a variable"},"operator":{{ template "type.Operator" . }},{{/*
  */}}"value":{"x-kubernetes-preserve-unknown-fields":true,"description":"what it is compared {{/*
  */}}with"},"message":{"type":"string","description":"shown when the condition decides"}}}{{ end }}
{{- define "type.ConditionStatus" }}{"type":"object","properties":{"conditions":{"type":"array",{{/*
  */}}"items":{{ template "type.StatusCondition" . }}},"message":{"type":"string"},{{/*
  */}}"ready":{"type":"boolean"}}}{{ end }}
{{- define "type.ConfigMapReference" }}{"type":"object","properties":{"name":{"type":"string"},{{/*
  */}}"namespace":{"type":"string"}},"required":["name"]}{{ end }}
{{- define "type.ContextAPICall" }}{"type":"object","properties":{"urlPath":{"type":"string",{{/*
  */}}"description":"path on the Kubernetes API server"},"method":{"type":"string","enum":["GET",{{/*
  */}}"POST"],"default":"GET"},"data":{"type":"array","items":{{ template "type.RequestData" . }},{{/*
  */}}"description":"body of a POST"},"service":{"type":"object",{{/*
  */}}"properties":{"url":{"type":"string","description":"URL of a service"},{{/*
  */}}"caBundle":{"type":"string","description":"certificates in PEM that the service's own is {{/*
  */}}checked with"},"headers":{"type":"array","items":{{ template "type.RequestHeader" . }}}},{{/*
  */}}"required":["url"],"description":"a service instead of the API server"},{{/*
  */}}"jmesPath":{"type":"string","description":"picks from the answer"},{{/*
  */}}"default":{"x-kubernetes-preserve-unknown-fields":true,"description":"taken when the call {{/*
  */}}fails"}}}{{ end }}
{{- define "type.ContextEntry" }}{"type":"object","oneOf":[{"required":["configMap"]},{{/*
  */}}{"required":["apiCall"]},{"required":["imageRegistry"]},{"required":["variable"]},{{/*
  */}}{"required":["globalReference"]}],"properties":{"name":{"type":"string","description":"the {{/*
  */}}variable's name"},"configMap":{{ template "type.ConfigMapReference" . }},"apiCall":{{ template
  "type.ContextAPICall" . }},"imageRegistry":{"type":"object",{{/*
  */}}"properties":{"reference":{"type":"string","description":"the image"},{{/*
  */}}"jmesPath":{"type":"string"},"imageRegistryCredentials":{{ template "type.RegistryCredentials"
  . }}},"required":["reference"]},"variable":{"type":"object",{{/*
  */}}"properties":{"value":{"x-kubernetes-preserve-unknown-fields":true},{{/*
  */}}"jmesPath":{"type":"string"},"default":{"x-kubernetes-preserve-unknown-fields":true}}},{{/*
  */}}"globalReference":{"type":"object","properties":{"name":{"type":"string","description":"a {{/*
  */}}GlobalContextEntry"},"jmesPath":{"type":"string"}},"required":["name"]}},"required":["name"]}{{
  end }}
{{- define "type.DeletingPolicy" }}{"type":"object","description":"Deletes resources on a schedule, {{/*
  */}}by CEL","properties":{"apiVersion":{"type":"string"},"kind":{"type":"string"},{{/*
  */}}"metadata":{"type":"object"},"spec":{"type":"object",{{/*
  */}}"properties":{"schedule":{"type":"string","description":"cron"},"matchConstraints":{{ template
  "type.MatchConstraints" . }},"conditions":{"type":"array","items":{{ template
  "type.MatchCondition" . }},"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"]},{{/*
  */}}"variables":{"type":"array","items":{{ template "type.CELVariable" . }},{{/*
  */}}"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"]},{{/*
  */}}"deletionPropagationPolicy":{"type":"string","enum":["Foreground","Background","Orphan"]}},{{/*
  */}}"required":["schedule"]},"status":{{ template "type.RunStatus" . }}},"required":["spec"]}{{
  end }}
{{- define "type.Deny" }}{"type":"object",{{/*
  */}}"properties":{"conditions":{"x-kubernetes-preserve-unknown-fields":true,{{/*
  */}}"description":"any/all lists of conditions"}}}{{ end }}
{{- define "type.Disabled" }}{"type":"object","properties":{"enabled":{"type":"boolean","default":false}}}{{ end }}
{{- define "type.Enabled" }}{"type":"object","properties":{"enabled":{"type":"boolean","default":true}}}{{ end }}
{{- define "type.EphemeralReport" }}{"type":"object","description":"What policies say of one {{/*
  */}}resource, until it is gathered into a report","properties":{"apiVersion":{"type":"string"},{{/*
  */}}"kind":{"type":"string"},"metadata":{"type":"object"},"spec":{"type":"object",{{/*
  */}}"properties":{"owner":{"type":"object","x-kubernetes-map-type":"atomic",{{/*
  */}}"properties":{"apiVersion":{"type":"string"},"kind":{"type":"string"},{{/*
  */}}"name":{"type":"string"},"uid":{"type":"string"},"controller":{"type":"boolean"},{{/*
  */}}"blockOwnerDeletion":{"type":"boolean"}},"required":["apiVersion","kind","name","uid"]},{{/*
  */}}"results":{"type":"array","items":{{ template "type.ReportResult" . }}},"summary":{{ template
  "type.ReportSummary" . }}},"required":["owner"]}},"required":["spec"]}{{ end }}
{{- define "type.FailureActionOverride" }}{"type":"object","properties":{"action":{"type":"string",{{/*
  */}}"enum":["audit","enforce","Audit","Enforce"]},"namespaces":{"type":"array",{{/*
  */}}"items":{"type":"string"}},"namespaceSelector":{{ template "type.LabelSelector" . }}}}{{ end }}
{{- define "type.ForEachGeneration" }}{"type":"object","properties":{"apiVersion":{"type":"string"},{{/*
  */}}"kind":{"type":"string"},"namespace":{"type":"string"},"name":{"type":"string"},{{/*
  */}}"uid":{"type":"string"},"data":{"x-kubernetes-preserve-unknown-fields":true,{{/*
  */}}"description":"the new resource's content"},"clone":{"type":"object",{{/*
  */}}"properties":{"namespace":{"type":"string"},"name":{"type":"string"}}},{{/*
  */}}"cloneList":{"type":"object","properties":{"namespace":{"type":"string"},{{/*
  */}}"kinds":{"type":"array","items":{"type":"string"}},"selector":{{ template "type.LabelSelector"
  . }}}},"list":{"type":"string"},"context":{"type":"array","items":{{ template "type.ContextEntry"
  . }}},"preconditions":{{ template "type.AnyAllConditions" . }}}}{{ end }}
{{- define "type.ForEachMutation" }}{"type":"object","properties":{"list":{"type":"string"},{{/*
  */}}"order":{"type":"string","enum":["Ascending","Descending"]},"context":{"type":"array","items":{{
  template "type.ContextEntry" . }}},"preconditions":{{ template "type.AnyAllConditions" . }},{{/*
  */}}"patchStrategicMerge":{"x-kubernetes-preserve-unknown-fields":true},{{/*
  */}}"patchesJson6902":{"type":"string"},"foreach":{"x-kubernetes-preserve-unknown-fields":true,{{/*
  */}}"description":"nested"}}}{{ end }}
{{- define "type.ForEachValidation" }}{"type":"object","properties":{"list":{"type":"string",{{/*
  */}}"description":"JMESPath to the elements"},"elementScope":{"type":"boolean"},{{/*
  */}}"context":{"type":"array","items":{{ template "type.ContextEntry" . }}},"preconditions":{{
  template "type.AnyAllConditions" . }},"pattern":{"x-kubernetes-preserve-unknown-fields":true},{{/*
  */}}"anyPattern":{"x-kubernetes-preserve-unknown-fields":true},"deny":{{ template "type.Deny" . }}{{/*
  */}},"foreach":{"x-kubernetes-preserve-unknown-fields":true,"description":"nested"}}}{{ end }}
{{- define "type.Generated" }}{"type":"object","properties":{"enabled":{"type":"boolean"}}}{{ end }}
{{- define "type.GeneratedResource" }}{"type":"object","oneOf":[{"required":["expression"]},{{/*
  */}}{"required":["template"]}],"properties":{ {{ if ge . 1019 }}"template":{"type":"object",{{/*
  */}}"properties":{"value":{"type":"string","minLength":1,"description":"the resource as YAML"},{{/*
  */}}"interpolate":{"type":"string","enum":["none","cel"],"default":"none"}},"required":["value"]},{{
  end }}"expression":{"type":"string","description":"CEL"}}}{{ end }}
{{- define "type.GeneratedStatus" }}{"type":"object","properties":{"conditionStatus":{{ template
  "type.ConditionStatus" . }},"autogen":{"type":"object",{{/*
  */}}"x-kubernetes-preserve-unknown-fields":true,"description":"the policies that Kyverno made for {{/*
  */}}pod controllers"},"generated":{"type":"boolean"}}}{{ end }}
{{- define "type.GeneratingPolicy" }}{"type":"object","description":"Makes resources by CEL",{{/*
  */}}"properties":{"apiVersion":{"type":"string"},"kind":{"type":"string"},{{/*
  */}}"metadata":{"type":"object"},"spec":{"type":"object","properties":{ {{ if ge . 1019 }}{{/*
  */}}"auditAnnotations":{"type":"array","items":{{ template "type.AuditAnnotation" . }}},{{ end }} {{
  if ge . 1019 }}"useServerSideApply":{"type":"boolean"},{{ end }}"matchConstraints":{{ template
  "type.MatchConstraints" . }},"matchConditions":{"type":"array","items":{{ template
  "type.MatchCondition" . }},"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"]},{{/*
  */}}"variables":{"type":"array","items":{{ template "type.CELVariable" . }},{{/*
  */}}"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"]},{{/*
  */}}"generate":{"type":"array","items":{{ template "type.GeneratedResource" . }},"minItems":1},{{/*
  */}}"webhookConfiguration":{{ template "type.TimedWebhook" . }},"evaluation":{"type":"object",{{/*
  */}}"properties":{ {{ if ge . 1019 }}"skipBackgroundRequests":{"type":"boolean","default":true},{{
  end }}"admission":{{ template "type.Enabled" . }},"generateExisting":{{ template "type.Disabled" . }}{{/*
  */}},"synchronize":{{ template "type.Disabled" . }},"orphanDownstreamOnPolicyDelete":{{ template
  "type.Disabled" . }}}}},"required":["generate"]},"status":{{ template "type.ReadyStatus" . }}},{{/*
  */}}"required":["spec"]}{{ end }}
{{- define "type.Generation" }}{"type":"object","properties":{"apiVersion":{"type":"string"},{{/*
  */}}"kind":{"type":"string"},"namespace":{"type":"string"},"name":{"type":"string"},{{/*
  */}}"uid":{"type":"string"},"data":{"x-kubernetes-preserve-unknown-fields":true,{{/*
  */}}"description":"the new resource's content"},"clone":{"type":"object",{{/*
  */}}"properties":{"namespace":{"type":"string"},"name":{"type":"string"}}},{{/*
  */}}"cloneList":{"type":"object","properties":{"namespace":{"type":"string"},{{/*
  */}}"kinds":{"type":"array","items":{"type":"string"}},"selector":{{ template "type.LabelSelector"
  . }}}},"synchronize":{"type":"boolean","description":"keep it in step with its source"},{{/*
  */}}"orphanDownstreamOnPolicyDelete":{"type":"boolean"},"generateExisting":{"type":"boolean"},{{/*
  */}}"foreach":{"type":"array","items":{{ template "type.ForEachGeneration" . }}}}}{{ end }}
{{- define "type.GlobalContextEntry" }}{"type":"object","description":"Data that policies share, {{/*
  */}}loaded before they need it","properties":{"apiVersion":{"type":"string"},{{/*
  */}}"kind":{"type":"string"},"metadata":{"type":"object"},"spec":{{ template
  "type.GlobalContextSpec" . }},"status":{{ template "type.GlobalContextStatus" . }}},{{/*
  */}}"required":["spec"]}{{ end }}
{{- define "type.GlobalContextEntryReady" }}{"type":"object","description":"Data that policies {{/*
  */}}share, loaded before they need it","properties":{"apiVersion":{"type":"string"},{{/*
  */}}"kind":{"type":"string"},"metadata":{"type":"object"},"spec":{{ template
  "type.GlobalContextSpec" . }},"status":{"type":"object",{{/*
  */}}"properties":{"conditions":{"type":"array","items":{{ template "type.StatusCondition" . }}},{{/*
  */}}"lastRefreshTime":{"type":"string","format":"date-time"},"ready":{"type":"boolean"}}}},{{/*
  */}}"required":["spec"]}{{ end }}
{{- define "type.GlobalContextSpec" }}{"type":"object","oneOf":[{"required":["kubernetesResource"]},{{/*
  */}}{"required":["apiCall"]}],"properties":{"kubernetesResource":{"type":"object",{{/*
  */}}"properties":{"group":{"type":"string"},"version":{"type":"string"},{{/*
  */}}"resource":{"type":"string"},"namespace":{"type":"string"}},"required":["version",{{/*
  */}}"resource"]},"apiCall":{"type":"object","properties":{"urlPath":{"type":"string"},{{/*
  */}}"method":{"type":"string","enum":["GET","POST"],"default":"GET"},"data":{"type":"array",{{/*
  */}}"items":{{ template "type.RequestData" . }}},"service":{{ template "type.ServiceCall" . }},{{/*
  */}}"refreshInterval":{"type":"string","default":"10m"},"retryLimit":{"type":"integer",{{/*
  */}}"minimum":1,"default":3}}},"projections":{"type":"array","items":{"type":"object",{{/*
  */}}"properties":{"name":{"type":"string"},"jmesPath":{"type":"string"}},"required":["name",{{/*
  */}}"jmesPath"]}}}}{{ end }}
{{- define "type.GlobalContextStatus" }}{"type":"object","properties":{"conditions":{"type":"array",{{/*
  */}}"items":{{ template "type.StatusCondition" . }}},"lastRefreshTime":{"type":"string",{{/*
  */}}"format":"date-time"}}}{{ end }}
{{- define "type.GroupVersionKind" }}{"type":"object","properties":{"group":{"type":"string"},{{/*
  */}}"version":{"type":"string"},"kind":{"type":"string"}},"required":["group","version","kind"]}{{
  end }}
{{- define "type.GroupVersionResource" }}{"type":"object","properties":{"group":{"type":"string"},{{/*
  */}}"version":{"type":"string"},"resource":{"type":"string"}},"required":["group","version",{{/*
  */}}"resource"]}{{ end }}
{{- define "type.ImageAttestation" }}{"type":"object","properties":{"name":{"type":"string"},{{/*
  */}}"type":{"type":"string"},"predicateType":{"type":"string"},"attestors":{"type":"array",{{/*
  */}}"items":{{ template "type.Attestor" . }}},"conditions":{"type":"array","items":{{ template
  "type.AttestationConditions" . }}}}}{{ end }}
{{- define "type.ImageAttestor" }}{"type":"object","oneOf":[{"required":["cosign"]},{{/*
  */}}{"required":["notary"]}],"properties":{"name":{"type":"string"},"cosign":{"type":"object",{{/*
  */}}"properties":{ {{ if ge . 1019 }}"trustedRoot":{{ template "type.StringOrExpression" . }},{{
  end }}"key":{"type":"object","properties":{"data":{"type":"string"},"kms":{"type":"string"},{{/*
  */}}"hashAlgorithm":{"type":"string"},"expression":{"type":"string"}}},"keyless":{"type":"object",{{/*
  */}}"properties":{ {{ if ge . 1019 }}"additionalExtensions":{"type":"object",{{/*
  */}}"additionalProperties":{"type":"string"}},{{ end }}"identities":{"type":"array",{{/*
  */}}"items":{"type":"object","properties":{ {{ if ge . 1019 }}{{/*
  */}}"subjectExpression":{"type":"string"},{{ end }}"subject":{"type":"string"},{{/*
  */}}"subjectRegExp":{"type":"string"},"issuer":{"type":"string"},{{/*
  */}}"issuerRegExp":{"type":"string"}}}},"roots":{"type":"string"}},"required":["identities"]},{{/*
  */}}"certificate":{"type":"object","properties":{"cert":{{ template "type.StringOrExpression" . }}{{/*
  */}},"certChain":{{ template "type.StringOrExpression" . }}}},"ctlog":{"type":"object",{{/*
  */}}"properties":{"url":{"type":"string"},"rekorPubKey":{"type":"string"},{{/*
  */}}"ctLogPubKey":{"type":"string"},"tsaCertChain":{"type":"string"},{{/*
  */}}"insecureIgnoreTlog":{"type":"boolean"},"insecureIgnoreSCT":{"type":"boolean"}}},{{/*
  */}}"source":{"type":"object","properties":{"repository":{"type":"string"},{{/*
  */}}"tagPrefix":{"type":"string"},"PullSecrets":{"type":"array","items":{"type":"object",{{/*
  */}}"x-kubernetes-map-type":"atomic","properties":{"name":{"type":"string","default":""}}}}}},{{/*
  */}}"tuf":{"type":"object","properties":{"mirror":{"type":"string"},"root":{"type":"object",{{/*
  */}}"properties":{"path":{"type":"string"},"data":{"type":"string"}}}}},{{/*
  */}}"annotations":{"type":"object","additionalProperties":{"type":"string"}}}},{{/*
  */}}"notary":{"type":"object","properties":{"certs":{{ template "type.StringOrExpression" . }},{{/*
  */}}"tsaCerts":{{ template "type.StringOrExpression" . }}}}},"required":["name"]}{{ end }}
{{- define "type.ImageExtractor" }}{"type":"object","properties":{"path":{"type":"string"},{{/*
  */}}"name":{"type":"string"},"key":{"type":"string"},"value":{"type":"string"},{{/*
  */}}"jmesPath":{"type":"string"}},"required":["path"]}{{ end }}
{{- define "type.ImageStatus" }}{"type":"object","properties":{"conditionStatus":{{ template
  "type.ConditionStatus" . }},"autogen":{"type":"object",{{/*
  */}}"x-kubernetes-preserve-unknown-fields":true}}}{{ end }}
{{- define "type.ImageValidatingPolicy" }}{"type":"object","description":"Verifies images by CEL",{{/*
  */}}"properties":{"apiVersion":{"type":"string"},"kind":{"type":"string"},{{/*
  */}}"metadata":{"type":"object"},"spec":{"type":"object","properties":{"matchConstraints":{{
  template "type.MatchConstraints" . }},"matchConditions":{"type":"array","items":{{ template
  "type.MatchCondition" . }}},"matchImageReferences":{"type":"array","items":{"type":"object",{{/*
  */}}"oneOf":[{"required":["glob"]},{"required":["expression"]}],{{/*
  */}}"properties":{"glob":{"type":"string"},"expression":{"type":"string"}}}},{{/*
  */}}"images":{"type":"array","items":{{ template "type.MatchCondition" . }},"description":"where {{/*
  */}}custom resources hold images"},"variables":{"type":"array","items":{{ template
  "type.CELVariable" . }}},"attestors":{"type":"array","items":{{ template "type.ImageAttestor" . }}{{/*
  */}}},"attestations":{"type":"array","items":{"type":"object",{{/*
  */}}"properties":{"name":{"type":"string"},"intoto":{{ template "type.ArtifactType" . }},{{/*
  */}}"referrer":{{ template "type.ArtifactType" . }}},"required":["name"]}},{{/*
  */}}"validations":{"type":"array","items":{{ template "type.CELValidation" . }}},{{/*
  */}}"validationActions":{"type":"array","items":{"type":"string","enum":["Deny","Audit","Warn"]},{{/*
  */}}"x-kubernetes-list-type":"set"},"validationConfigurations":{"type":"object",{{/*
  */}}"properties":{"mutateDigest":{"type":"boolean","default":true},{{/*
  */}}"verifyDigest":{"type":"boolean","default":true},"required":{"type":"boolean",{{/*
  */}}"default":true}},"default":{}},"credentials":{{ template "type.RegistryCredentials" . }},{{/*
  */}}"auditAnnotations":{"type":"array","items":{{ template "type.AuditAnnotation" . }}},{{/*
  */}}"failurePolicy":{"type":"string","enum":["Ignore","Fail"]},"webhookConfiguration":{{ template
  "type.TimedWebhook" . }},"evaluation":{{ template "type.ValidationEvaluation" . }},{{/*
  */}}"autogen":{"type":"object","properties":{"podControllers":{{ template "type.PodControllers" . }}{{/*
  */}}}}},"required":["attestors","validations"]},"status":{{ template "type.ImageStatus" . }}},{{/*
  */}}"required":["spec"]}{{ end }}
{{- define "type.ImageVerification" }}{"type":"object","properties":{"type":{"type":"string",{{/*
  */}}"enum":["Cosign","SigstoreBundle","Notary"]},"failureAction":{"type":"string","enum":["Audit",{{/*
  */}}"Enforce"]},"imageReferences":{"type":"array","items":{"type":"string"},{{/*
  */}}"description":"images; wildcards"},"skipImageReferences":{"type":"array",{{/*
  */}}"items":{"type":"string"}},"attestors":{"type":"array","items":{{ template "type.Attestor" . }}{{/*
  */}}},"attestations":{"type":"array","items":{{ template "type.ImageAttestation" . }}},{{/*
  */}}"repository":{"type":"string"},"mutateDigest":{"type":"boolean","default":true,{{/*
  */}}"description":"put the digest in place of the tag"},"verifyDigest":{"type":"boolean",{{/*
  */}}"default":true},"required":{"type":"boolean","default":true},"useCache":{"type":"boolean",{{/*
  */}}"default":true},"imageRegistryCredentials":{{ template "type.RegistryCredentials" . }},{{/*
  */}}"validate":{"type":"object","properties":{"message":{"type":"string"},"deny":{{ template
  "type.Deny" . }}}},"image":{"type":"string","description":"deprecated, use imageReferences"},{{/*
  */}}"key":{"type":"string","description":"deprecated, use attestors"},"roots":{"type":"string"},{{/*
  */}}"subject":{"type":"string"},"issuer":{"type":"string"},{{/*
  */}}"additionalExtensions":{"type":"object","additionalProperties":{"type":"string"}},{{/*
  */}}"annotations":{"type":"object","additionalProperties":{"type":"string"}},{{/*
  */}}"cosignOCI11":{"type":"boolean"}}}{{ end }}
{{- define "type.ImageVerificationV2" }}{"type":"object","properties":{"type":{"type":"string",{{/*
  */}}"enum":["Cosign","SigstoreBundle","Notary"]},"failureAction":{"type":"string","enum":["Audit",{{/*
  */}}"Enforce"]},"imageReferences":{"type":"array","items":{"type":"string"},{{/*
  */}}"description":"images; wildcards"},"skipImageReferences":{"type":"array",{{/*
  */}}"items":{"type":"string"}},"attestors":{"type":"array","items":{{ template "type.Attestor" . }}{{/*
  */}}},"attestations":{"type":"array","items":{{ template "type.ImageAttestation" . }}},{{/*
  */}}"repository":{"type":"string"},"mutateDigest":{"type":"boolean","default":true,{{/*
  */}}"description":"put the digest in place of the tag"},"verifyDigest":{"type":"boolean",{{/*
  */}}"default":true},"required":{"type":"boolean","default":true},"useCache":{"type":"boolean",{{/*
  */}}"default":true},"imageRegistryCredentials":{{ template "type.RegistryCredentials" . }},{{/*
  */}}"validate":{"type":"object","properties":{"message":{"type":"string"},"deny":{{ template
  "type.Deny" . }}}}}}{{ end }}
{{- define "type.LabelSelector" }}{"type":"object","x-kubernetes-map-type":"atomic",{{/*
  */}}"properties":{"matchLabels":{"type":"object","additionalProperties":{"type":"string"}},{{/*
  */}}"matchExpressions":{"type":"array","items":{{ template "type.LabelSelectorRequirement" . }}}}}{{
  end }}
{{- define "type.LabelSelectorRequirement" }}{"type":"object","properties":{"key":{"type":"string"},{{/*
  */}}"operator":{"type":"string"},"values":{"type":"array","items":{"type":"string"}}},{{/*
  */}}"required":["key","operator"]}{{ end }}
{{- define "type.ManifestValidation" }}{"type":"object","properties":{"attestors":{"type":"array",{{/*
  */}}"items":{{ template "type.Attestor" . }}},"annotationDomain":{"type":"string"},{{/*
  */}}"ignoreFields":{"type":"array","items":{"type":"object",{{/*
  */}}"properties":{"fields":{"type":"array","items":{"type":"string"}},"objects":{"type":"array",{{/*
  */}}"items":{"type":"object","properties":{"group":{"type":"string"},"version":{"type":"string"},{{/*
  */}}"kind":{"type":"string"},"name":{"type":"string"},"namespace":{"type":"string"}}}}}}},{{/*
  */}}"dryRun":{"type":"object","properties":{"enable":{"type":"boolean"},{{/*
  */}}"namespace":{"type":"string"}}},"repository":{"type":"string"}}}{{ end }}
{{- define "type.MatchCondition" }}{"type":"object","properties":{"name":{"type":"string",{{/*
  */}}"description":"names the condition in messages"},"expression":{"type":"string",{{/*
  */}}"description":"CEL; true lets the request through to the policy"}},"required":["name",{{/*
  */}}"expression"]}{{ end }}
{{- define "type.MatchConstraints" }}{"type":"object","x-kubernetes-map-type":"atomic",{{/*
  */}}"properties":{"resourceRules":{"type":"array","items":{{ template "type.AdmissionRule" . }},{{/*
  */}}"description":"what the policy is about"},"excludeResourceRules":{"type":"array","items":{{
  template "type.AdmissionRule" . }},"description":"what it leaves alone"},"namespaceSelector":{{
  template "type.LabelSelector" . }},"objectSelector":{{ template "type.LabelSelector" . }},{{/*
  */}}"matchPolicy":{"type":"string"}}}{{ end }}
{{- define "type.MatchFilters" }}{"type":"object","not":{"required":["any","all"]},{{/*
  */}}"properties":{"any":{"type":"array","items":{{ template "type.ResourceFilter" . }},{{/*
  */}}"description":"one must fit"},"all":{"type":"array","items":{{ template "type.ResourceFilter"
  . }},"description":"all must fit"}}}{{ end }}
{{- define "type.MutatingPolicy" }}{"type":"object","description":"Changes resources by CEL",{{/*
  */}}"properties":{"apiVersion":{"type":"string"},"kind":{"type":"string"},{{/*
  */}}"metadata":{"type":"object"},"spec":{"type":"object","properties":{ {{ if ge . 1019 }}{{/*
  */}}"targetMatchConditions":{"type":"array","items":{{ template "type.MatchCondition" . }},{{/*
  */}}"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"]},{{ end }} {{ if ge .
  1019 }}"auditAnnotations":{"type":"array","items":{{ template "type.AuditAnnotation" . }}},{{ end }}{{/*
  */}}"matchConstraints":{{ template "type.MatchConstraints" . }},"matchConditions":{"type":"array",{{/*
  */}}"items":{{ template "type.MatchCondition" . }},"x-kubernetes-list-type":"map",{{/*
  */}}"x-kubernetes-list-map-keys":["name"]},"targetMatchConstraints":{{ template
  "type.TargetMatchConstraints" . }},"variables":{"type":"array","items":{{ template
  "type.CELVariable" . }},"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"]},{{/*
  */}}"mutations":{"type":"array","items":{"type":"object",{{/*
  */}}"properties":{"patchType":{"type":"string","description":"ApplyConfiguration or JSONPatch"},{{/*
  */}}"applyConfiguration":{"type":"object","properties":{"expression":{"type":"string"}}},{{/*
  */}}"jsonPatch":{"type":"object","properties":{"expression":{"type":"string"}}}},{{/*
  */}}"required":["patchType"]}},"reinvocationPolicy":{"type":"string"},{{/*
  */}}"failurePolicy":{"type":"string","enum":["Ignore","Fail"]},"webhookConfiguration":{{ template
  "type.TimedWebhook" . }},"evaluation":{"type":"object","properties":{ {{ if ge . 1019 }}{{/*
  */}}"skipBackgroundRequests":{"type":"boolean","default":true},{{ end }} {{ if ge . 1019 }}{{/*
  */}}"useServerSideApply":{"type":"boolean"},{{ end }}"mode":{"type":"string"},"admission":{{
  template "type.Enabled" . }},"background":{{ template "type.Enabled" . }},"mutateExisting":{{
  template "type.Disabled" . }}}},"autogen":{"type":"object","properties":{"podControllers":{{
  template "type.PodControllers" . }},"mutatingAdmissionPolicy":{{ template "type.Generated" . }}{{/*
  */}}}}}},"status":{{ template "type.GeneratedStatus" . }}},"required":["spec"]}{{ end }}
{{- define "type.Mutation" }}{"type":"object",{{/*
  */}}"properties":{"patchStrategicMerge":{"x-kubernetes-preserve-unknown-fields":true,{{/*
  */}}"description":"overlay"},"patchesJson6902":{"type":"string","description":"JSON patch, as {{/*
  */}}text"},"foreach":{"type":"array","items":{{ template "type.ForEachMutation" . }}},{{/*
  */}}"targets":{"type":"array","items":{{ template "type.MutationTarget" . }},{{/*
  */}}"description":"existing resources"},"mutateExistingOnPolicyUpdate":{"type":"boolean"}}}{{ end }}
{{- define "type.MutationTarget" }}{"type":"object","properties":{"apiVersion":{"type":"string"},{{/*
  */}}"kind":{"type":"string"},"namespace":{"type":"string"},"name":{"type":"string"},{{/*
  */}}"uid":{"type":"string"},"selector":{{ template "type.LabelSelector" . }},{{/*
  */}}"context":{"type":"array","items":{{ template "type.ContextEntry" . }}},{{/*
  */}}"preconditions":{"x-kubernetes-preserve-unknown-fields":true}}}{{ end }}
{{- define "type.NullableList" }}{"type":"array","items":{"type":"string"},"nullable":true}{{ end }}
{{- define "type.ObjectReference" }}{"type":"object","x-kubernetes-map-type":"atomic",{{/*
  */}}"properties":{"apiVersion":{"type":"string"},"kind":{"type":"string"},{{/*
  */}}"namespace":{"type":"string"},"name":{"type":"string"},"uid":{"type":"string"},{{/*
  */}}"resourceVersion":{"type":"string"},"fieldPath":{"type":"string"}}}{{ end }}
{{- define "type.OpenReport" }}{"type":"object","description":"What policies say of resources",{{/*
  */}}"properties":{"apiVersion":{"type":"string"},"kind":{"type":"string"},{{/*
  */}}"metadata":{"type":"object"},"scope":{{ template "type.ObjectReference" . }},"scopeSelector":{{
  template "type.LabelSelector" . }},"results":{"type":"array","items":{{ template
  "type.ReportResult" . }}},"summary":{{ template "type.ReportSummary" . }},{{/*
  */}}"source":{"type":"string"},"configuration":{"type":"object",{{/*
  */}}"properties":{"limits":{"type":"object","properties":{"maxResults":{"type":"integer"},{{/*
  */}}"statusFilter":{"type":"array","items":{"type":"string","enum":["pass","fail","warn","error",{{/*
  */}}"skip"]}}}}},"required":["limits"]}}}{{ end }}
{{- define "type.Operator" }}{"type":"string","enum":["Equals","NotEquals","In","AnyIn","AllIn",{{/*
  */}}"NotIn","AnyNotIn","AllNotIn","GreaterThanOrEquals","GreaterThan","LessThanOrEquals",{{/*
  */}}"LessThan","DurationGreaterThanOrEquals","DurationGreaterThan","DurationLessThanOrEquals",{{/*
  */}}"DurationLessThan"]}{{ end }}
{{- define "type.PodControllers" }}{"type":"object","properties":{"controllers":{"type":"array","items":{"type":"string"}}}}{{ end }}
{{- define "type.PodSecurityExclusion" }}{"type":"object",{{/*
  */}}"properties":{"controlName":{"type":"string","enum":["HostProcess","Host Namespaces",{{/*
  */}}"Privileged Containers","Capabilities","HostPath Volumes","Host Ports","AppArmor","SELinux",{{/*
  */}}"/proc Mount Type","Seccomp","Sysctls","Volume Types","Privilege Escalation","Running as {{/*
  */}}Non-root","Running as Non-root user"]},"images":{"type":"array","items":{"type":"string"}},{{/*
  */}}"restrictedField":{"type":"string"},"values":{"type":"array","items":{"type":"string"}}},{{/*
  */}}"required":["controlName"]}{{ end }}
{{- define "type.PolicyException" }}{"type":"object","description":"Lets resources off policies",{{/*
  */}}"properties":{"apiVersion":{"type":"string"},"kind":{"type":"string"},{{/*
  */}}"metadata":{"type":"object"},"spec":{"type":"object",{{/*
  */}}"properties":{"exceptions":{"type":"array","items":{"type":"object",{{/*
  */}}"properties":{"policyName":{"type":"string","description":"a policy; namespace/name for a {{/*
  */}}Policy"},"ruleNames":{"type":"array","items":{"type":"string"}}},"required":["policyName",{{/*
  */}}"ruleNames"]}},"match":{{ template "type.MatchFilters" . }},"conditions":{{ template
  "type.StrictConditions" . }},"background":{"type":"boolean"},"podSecurity":{"type":"array",{{/*
  */}}"items":{{ template "type.PodSecurityExclusion" . }}}},"required":["exceptions","match"]}},{{/*
  */}}"required":["spec"]}{{ end }}
{{- define "type.PolicyReport" }}{"type":"object","description":"What policies say of resources",{{/*
  */}}"properties":{"apiVersion":{"type":"string"},"kind":{"type":"string"},{{/*
  */}}"metadata":{"type":"object"},"scope":{{ template "type.ObjectReference" . }},"scopeSelector":{{
  template "type.LabelSelector" . }},"results":{"type":"array","items":{{ template
  "type.ReportResult" . }}},"summary":{{ template "type.ReportSummary" . }}}}{{ end }}
{{- define "type.PolicyStatus" }}{"type":"object","properties":{"autogen":{"type":"object",{{/*
  */}}"x-kubernetes-preserve-unknown-fields":true,"description":"the rules that Kyverno made for {{/*
  */}}pod controllers"},"conditions":{"type":"array","items":{{ template "type.StatusCondition" . }}{{/*
  */}}},"ready":{"type":"boolean"},"rulecount":{"type":"object",{{/*
  */}}"properties":{"validate":{"type":"integer"},"mutate":{"type":"integer"},{{/*
  */}}"generate":{"type":"integer"},"verifyimages":{"type":"integer"}},"required":["validate",{{/*
  */}}"mutate","generate","verifyimages"]},"validatingadmissionpolicy":{"type":"object",{{/*
  */}}"properties":{"generated":{"type":"boolean"},"message":{"type":"string"}},{{/*
  */}}"required":["generated","message"]}}}{{ end }}
{{- define "type.PolicyV1" }}{"type":"object","description":"Rules that validate, mutate or {{/*
  */}}generate resources, or verify images","properties":{"apiVersion":{"type":"string"},{{/*
  */}}"kind":{"type":"string"},"metadata":{"type":"object"},"spec":{"type":"object",{{/*
  */}}"properties":{"admission":{"type":"boolean","default":true,"description":"judge requests"},{{/*
  */}}"background":{"type":"boolean","default":true,"description":"judge what is there already"},{{/*
  */}}"emitWarning":{"type":"boolean","default":false,"description":"warn the client about {{/*
  */}}violations that are only audited"},"applyRules":{"type":"string","enum":["All","One"]},{{/*
  */}}"failurePolicy":{"type":"string","enum":["Ignore","Fail"],"description":"deprecated, use {{/*
  */}}webhookConfiguration.failurePolicy"},"generateExisting":{"type":"boolean"},{{/*
  */}}"generateExistingOnPolicyUpdate":{"type":"boolean"},{{/*
  */}}"mutateExistingOnPolicyUpdate":{"type":"boolean"},"schemaValidation":{"type":"boolean"},{{/*
  */}}"useServerSideApply":{"type":"boolean"},"validationFailureAction":{"type":"string",{{/*
  */}}"enum":["audit","enforce","Audit","Enforce"],"default":"Audit","description":"deprecated, use {{/*
  */}}validate.failureAction"},"validationFailureActionOverrides":{"type":"array","items":{{
  template "type.FailureActionOverride" . }}},"webhookConfiguration":{"type":"object",{{/*
  */}}"properties":{"failurePolicy":{"type":"string","enum":["Ignore","Fail"]},{{/*
  */}}"timeoutSeconds":{"type":"integer","format":"int32"},"matchConditions":{"type":"array",{{/*
  */}}"items":{{ template "type.MatchCondition" . }}}}},"webhookTimeoutSeconds":{"type":"integer",{{/*
  */}}"format":"int32"},"rules":{"type":"array","items":{{ template "type.Rule" . }}}}},"status":{{
  template "type.PolicyStatus" . }}},"required":["spec"]}{{ end }}
{{- define "type.PolicyV2beta1" }}{"type":"object","description":"Rules that validate, mutate or {{/*
  */}}generate resources, or verify images","properties":{"apiVersion":{"type":"string"},{{/*
  */}}"kind":{"type":"string"},"metadata":{"type":"object"},"spec":{"type":"object",{{/*
  */}}"properties":{"admission":{"type":"boolean","default":true,"description":"judge requests"},{{/*
  */}}"background":{"type":"boolean","default":true,"description":"judge what is there already"},{{/*
  */}}"emitWarning":{"type":"boolean","default":false,"description":"warn the client about {{/*
  */}}violations that are only audited"},"applyRules":{"type":"string","enum":["All","One"]},{{/*
  */}}"failurePolicy":{"type":"string","enum":["Ignore","Fail"],"description":"deprecated, use {{/*
  */}}webhookConfiguration.failurePolicy"},"generateExisting":{"type":"boolean"},{{/*
  */}}"generateExistingOnPolicyUpdate":{"type":"boolean"},{{/*
  */}}"mutateExistingOnPolicyUpdate":{"type":"boolean"},"schemaValidation":{"type":"boolean"},{{/*
  */}}"useServerSideApply":{"type":"boolean"},"validationFailureAction":{"type":"string",{{/*
  */}}"enum":["audit","enforce","Audit","Enforce"],"default":"Audit","description":"deprecated, use {{/*
  */}}validate.failureAction"},"validationFailureActionOverrides":{"type":"array","items":{{
  template "type.FailureActionOverride" . }}},"webhookConfiguration":{"type":"object",{{/*
  */}}"properties":{"failurePolicy":{"type":"string","enum":["Ignore","Fail"]},{{/*
  */}}"timeoutSeconds":{"type":"integer","format":"int32"},"matchConditions":{"type":"array",{{/*
  */}}"items":{{ template "type.MatchCondition" . }}}}},"webhookTimeoutSeconds":{"type":"integer",{{/*
  */}}"format":"int32"},"rules":{"type":"array","items":{{ template "type.RuleV2" . }}}}},"status":{{
  template "type.PolicyStatus" . }}},"required":["spec"]}{{ end }}
{{- define "type.ReadyStatus" }}{"type":"object","properties":{"conditionStatus":{{ template "type.ConditionStatus" . }}}}{{ end }}
{{- define "type.RegistryCredentials" }}{"type":"object",{{/*
  */}}"properties":{"allowInsecureRegistry":{"type":"boolean"},"providers":{"type":"array",{{/*
  */}}"items":{"type":"string","enum":["default","amazon","azure","google","github"]}},{{/*
  */}}"secrets":{"type":"array","items":{"type":"string"}}}}{{ end }}
{{- define "type.Rekor" }}{"type":"object","properties":{"url":{"type":"string"},{{/*
  */}}"pubkey":{"type":"string"},"ignoreTlog":{"type":"boolean"}}}{{ end }}
{{- define "type.ReportResult" }}{"type":"object","properties":{"policy":{"type":"string"},{{/*
  */}}"rule":{"type":"string"},"result":{"type":"string","enum":["pass","fail","warn","error",{{/*
  */}}"skip"]},"severity":{"type":"string","enum":["critical","high","low","medium","info"]},{{/*
  */}}"category":{"type":"string"},"message":{"type":"string"},"scored":{"type":"boolean"},{{/*
  */}}"source":{"type":"string"},"timestamp":{"type":"object",{{/*
  */}}"properties":{"seconds":{"type":"integer","format":"int64"},"nanos":{"type":"integer",{{/*
  */}}"format":"int32"}},"required":["seconds","nanos"]},"resources":{"type":"array","items":{{
  template "type.ObjectReference" . }}},"resourceSelector":{{ template "type.LabelSelector" . }},{{/*
  */}}"properties":{"type":"object","additionalProperties":{"type":"string"}}},{{/*
  */}}"required":["policy"]}{{ end }}
{{- define "type.ReportSummary" }}{"type":"object","properties":{"pass":{"type":"integer"},{{/*
  */}}"fail":{"type":"integer"},"warn":{"type":"integer"},"error":{"type":"integer"},{{/*
  */}}"skip":{"type":"integer"}}}{{ end }}
{{- define "type.RequestData" }}{"type":"object","properties":{"key":{"type":"string"},{{/*
  */}}"value":{"x-kubernetes-preserve-unknown-fields":true}},"required":["key","value"]}{{ end }}
{{- define "type.RequestHeader" }}{"type":"object","properties":{"key":{"type":"string"},{{/*
  */}}"value":{"type":"string"}},"required":["key","value"]}{{ end }}
{{- define "type.RequestUser" }}{"type":"object","properties":{"userInfo":{{ template
  "type.UserInfo" . }},"roles":{{ template "type.NullableList" . }},"clusterRoles":{{ template
  "type.NullableList" . }}}}{{ end }}
{{- define "type.ResourceDescription" }}{"type":"object","not":{"required":["name","names"]},{{/*
  */}}"properties":{"kinds":{"type":"array","items":{"type":"string"},"description":"Kind, {{/*
  */}}version/Kind or group/version/Kind, with /subresource; wildcards"},"name":{"type":"string",{{/*
  */}}"description":"deprecated, use names"},"names":{"type":"array","items":{"type":"string"}},{{/*
  */}}"namespaces":{"type":"array","items":{"type":"string"}},"annotations":{"type":"object",{{/*
  */}}"additionalProperties":{"type":"string"}},"selector":{{ template "type.LabelSelector" . }},{{/*
  */}}"namespaceSelector":{{ template "type.LabelSelector" . }},"operations":{"type":"array",{{/*
  */}}"items":{"type":"string","enum":["CREATE","CONNECT","UPDATE","DELETE"]}}}}{{ end }}
{{- define "type.ResourceFilter" }}{"type":"object","properties":{"resources":{{ template
  "type.ResourceDescription" . }},"subjects":{"type":"array","items":{{ template "type.Subject" . }}{{/*
  */}}},"roles":{"type":"array","items":{"type":"string"}},"clusterRoles":{"type":"array",{{/*
  */}}"items":{"type":"string"}}}}{{ end }}
{{- define "type.ResourceSpec" }}{"type":"object","properties":{"apiVersion":{"type":"string"},{{/*
  */}}"kind":{"type":"string"},"namespace":{"type":"string"},"name":{"type":"string"},{{/*
  */}}"uid":{"type":"string"}}}{{ end }}
{{- define "type.Rule" }}{"type":"object","properties":{"name":{"type":"string","maxLength":63,{{/*
  */}}"description":"the rule's name, unique in the policy"},"context":{"type":"array","items":{{
  template "type.ContextEntry" . }},"description":"variables of the rule"},{{/*
  */}}"celPreconditions":{"type":"array","items":{{ template "type.MatchCondition" . }}},{{/*
  */}}"imageExtractors":{"type":"object","additionalProperties":{"type":"array","items":{{ template
  "type.ImageExtractor" . }}},"description":"where custom resources hold images"},"mutate":{{
  template "type.Mutation" . }},"generate":{{ template "type.Generation" . }},{{/*
  */}}"skipBackgroundRequests":{"type":"boolean","default":true},{{/*
  */}}"reportProperties":{"type":"object","additionalProperties":{"type":"string"}},{{/*
  */}}"match":{"type":"object","not":{"required":["any","all"]},"properties":{"any":{"type":"array",{{/*
  */}}"items":{{ template "type.ResourceFilter" . }},"description":"one must fit"},{{/*
  */}}"all":{"type":"array","items":{{ template "type.ResourceFilter" . }},"description":"all must {{/*
  */}}fit"},"resources":{"type":"object","not":{"required":["name","names"]},{{/*
  */}}"properties":{"kinds":{"type":"array","items":{"type":"string"},"description":"Kind, {{/*
  */}}version/Kind or group/version/Kind, with /subresource; wildcards"},"name":{"type":"string",{{/*
  */}}"description":"deprecated, use names"},"names":{"type":"array","items":{"type":"string"}},{{/*
  */}}"namespaces":{"type":"array","items":{"type":"string"}},"annotations":{"type":"object",{{/*
  */}}"additionalProperties":{"type":"string"}},"selector":{{ template "type.LabelSelector" . }},{{/*
  */}}"namespaceSelector":{{ template "type.LabelSelector" . }},"operations":{"type":"array",{{/*
  */}}"items":{"type":"string","enum":["CREATE","CONNECT","UPDATE","DELETE"]}}},{{/*
  */}}"description":"deprecated, use any or all"},"subjects":{"type":"array","items":{{ template
  "type.Subject" . }}},"roles":{"type":"array","items":{"type":"string"}},{{/*
  */}}"clusterRoles":{"type":"array","items":{"type":"string"}}},"description":"what the rule is {{/*
  */}}about"},"exclude":{"type":"object","not":{"required":["any","all"]},{{/*
  */}}"properties":{"any":{"type":"array","items":{{ template "type.ResourceFilter" . }},{{/*
  */}}"description":"one must fit"},"all":{"type":"array","items":{{ template "type.ResourceFilter"
  . }},"description":"all must fit"},"resources":{"type":"object","not":{"required":["name",{{/*
  */}}"names"]},"properties":{"kinds":{"type":"array","items":{"type":"string"},"description":"Kind,{{/*
  */}} version/Kind or group/version/Kind, with /subresource; wildcards"},"name":{"type":"string",{{/*
  */}}"description":"deprecated, use names"},"names":{"type":"array","items":{"type":"string"}},{{/*
  */}}"namespaces":{"type":"array","items":{"type":"string"}},"annotations":{"type":"object",{{/*
  */}}"additionalProperties":{"type":"string"}},"selector":{{ template "type.LabelSelector" . }},{{/*
  */}}"namespaceSelector":{{ template "type.LabelSelector" . }},"operations":{"type":"array",{{/*
  */}}"items":{"type":"string","enum":["CREATE","CONNECT","UPDATE","DELETE"]}}},{{/*
  */}}"description":"deprecated, use any or all"},"subjects":{"type":"array","items":{{ template
  "type.Subject" . }}},"roles":{"type":"array","items":{"type":"string"}},{{/*
  */}}"clusterRoles":{"type":"array","items":{"type":"string"}}},"description":"what it leaves {{/*
  */}}alone"},"preconditions":{"x-kubernetes-preserve-unknown-fields":true,"description":"any/all {{/*
  */}}lists of conditions"},"validate":{{ template "type.Validation" . }},{{/*
  */}}"verifyImages":{"type":"array","items":{{ template "type.ImageVerification" . }}}},{{/*
  */}}"required":["name","match"]}{{ end }}
{{- define "type.RuleV2" }}{"type":"object","properties":{"name":{"type":"string","maxLength":63,{{/*
  */}}"description":"the rule's name, unique in the policy"},"context":{"type":"array","items":{{
  template "type.ContextEntry" . }},"description":"variables of the rule"},{{/*
  */}}"celPreconditions":{"type":"array","items":{{ template "type.MatchCondition" . }}},{{/*
  */}}"imageExtractors":{"type":"object","additionalProperties":{"type":"array","items":{{ template
  "type.ImageExtractor" . }}},"description":"where custom resources hold images"},"mutate":{{
  template "type.Mutation" . }},"generate":{{ template "type.Generation" . }},{{/*
  */}}"skipBackgroundRequests":{"type":"boolean","default":true},{{/*
  */}}"reportProperties":{"type":"object","additionalProperties":{"type":"string"}},"match":{{
  template "type.MatchFilters" . }},"exclude":{{ template "type.MatchFilters" . }},"preconditions":{{
  template "type.StrictConditions" . }},"validate":{{ template "type.ValidationV2" . }},{{/*
  */}}"verifyImages":{"type":"array","items":{{ template "type.ImageVerificationV2" . }}}},{{/*
  */}}"required":["name","match"]}{{ end }}
{{- define "type.RunStatus" }}{"type":"object","properties":{"conditionStatus":{{ template
  "type.ConditionStatus" . }},"lastExecutionTime":{"type":"string","format":"date-time"}}}{{ end }}
{{- define "type.SecretReference" }}{"type":"object","properties":{"name":{"type":"string"},{{/*
  */}}"namespace":{"type":"string"}},"required":["name","namespace"]}{{ end }}
{{- define "type.ServiceCall" }}{"type":"object","properties":{"url":{"type":"string",{{/*
  */}}"description":"URL of a service"},"caBundle":{"type":"string","description":"certificates in {{/*
  */}}PEM that the service's own is checked with"},"headers":{"type":"array","items":{{ template
  "type.RequestHeader" . }}}},"required":["url"]}{{ end }}
{{- define "type.StatusCondition" }}{"type":"object","properties":{"type":{"type":"string",{{/*
  */}}"pattern":"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"},{{/*
  */}}"status":{"type":"string","enum":["True","False","Unknown"]},"reason":{"type":"string",{{/*
  */}}"pattern":"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"},"message":{"type":"string",{{/*
  */}}"maxLength":32768},"lastTransitionTime":{"type":"string","format":"date-time"},{{/*
  */}}"observedGeneration":{"type":"integer","format":"int64","minimum":0}},"required":["type",{{/*
  */}}"status","reason","message","lastTransitionTime"]}{{ end }}
{{- define "type.StrictCondition" }}{"type":"object",{{/*
  */}}"properties":{"key":{"x-kubernetes-preserve-unknown-fields":true},"operator":{"type":"string",{{/*
  */}}"enum":["Equals","NotEquals","AnyIn","AllIn","AnyNotIn","AllNotIn","GreaterThanOrEquals",{{/*
  */}}"GreaterThan","LessThanOrEquals","LessThan","DurationGreaterThanOrEquals",{{/*
  */}}"DurationGreaterThan","DurationLessThanOrEquals","DurationLessThan"]},{{/*
  */}}"value":{"x-kubernetes-preserve-unknown-fields":true},"message":{"type":"string"}}}{{ end }}
{{- define "type.StrictConditions" }}{"type":"object","properties":{"any":{"type":"array","items":{{
  template "type.StrictCondition" . }}},"all":{"type":"array","items":{{ template
  "type.StrictCondition" . }}}}}{{ end }}
{{- define "type.StringOrExpression" }}{"type":"object","oneOf":[{"required":["value"]},{{/*
  */}}{"required":["expression"]}],"properties":{"value":{"type":"string"},{{/*
  */}}"expression":{"type":"string","description":"CEL"}}}{{ end }}
{{- define "type.Subject" }}{"type":"object","x-kubernetes-map-type":"atomic",{{/*
  */}}"properties":{"kind":{"type":"string"},"name":{"type":"string"},"namespace":{"type":"string"},{{/*
  */}}"apiGroup":{"type":"string"}},"required":["kind","name"]}{{ end }}
{{- define "type.TargetMatchConstraints" }}{"type":"object","x-kubernetes-map-type":"atomic",{{/*
  */}}"properties":{"resourceRules":{"type":"array","items":{{ template "type.AdmissionRule" . }},{{/*
  */}}"description":"what the policy is about"},"excludeResourceRules":{"type":"array","items":{{
  template "type.AdmissionRule" . }},"description":"what it leaves alone"},"namespaceSelector":{{
  template "type.LabelSelector" . }},"objectSelector":{{ template "type.LabelSelector" . }},{{/*
  */}}"matchPolicy":{"type":"string"},"expression":{"type":"string"}}}{{ end }}
{{- define "type.TimedWebhook" }}{"type":"object","properties":{"timeoutSeconds":{"type":"integer","format":"int32"}}}{{ end }}
{{- define "type.UpdateRequestStatus" }}{"type":"object","properties":{"state":{"type":"string"},{{/*
  */}}"message":{"type":"string"},"retryCount":{"type":"integer"},{{/*
  */}}"generatedResources":{"type":"array","items":{{ template "type.ResourceSpec" . }}}},{{/*
  */}}"required":["state"]}{{ end }}
{{- define "type.UpdateRequestV1beta1" }}{"type":"object","description":"Work that Kyverno has left {{/*
  */}}for later","properties":{"apiVersion":{"type":"string"},"kind":{"type":"string"},{{/*
  */}}"metadata":{"type":"object"},"spec":{"type":"object","properties":{"policy":{"type":"string"},{{/*
  */}}"rule":{"type":"string"},"resource":{{ template "type.ResourceSpec" . }},{{/*
  */}}"synchronize":{"type":"boolean"},"deleteDownstream":{"type":"boolean"},{{/*
  */}}"requestType":{"type":"string","enum":["mutate","generate"]},"context":{"type":"object",{{/*
  */}}"properties":{"userInfo":{{ template "type.RequestUser" . }},"admissionRequestInfo":{{
  template "type.AdmissionRequestInfo" . }}}}},"required":["policy","rule","resource",{{/*
  */}}"deleteDownstream","context"]},"status":{"type":"object",{{/*
  */}}"properties":{"state":{"type":"string"},"message":{"type":"string"},{{/*
  */}}"retryCount":{"type":"integer"},"generatedResources":{"type":"array","items":{{ template
  "type.ResourceSpec" . }}},"handler":{"type":"string"}},"required":["state"]}}}{{ end }}
{{- define "type.UpdateRequestV2" }}{"type":"object","description":"Work that Kyverno has left for {{/*
  */}}later","properties":{"apiVersion":{"type":"string"},"kind":{"type":"string"},{{/*
  */}}"metadata":{"type":"object"},"spec":{"type":"object","properties":{"policy":{"type":"string"},{{/*
  */}}"rule":{"type":"string"},"resource":{{ template "type.ResourceSpec" . }},{{/*
  */}}"synchronize":{"type":"boolean"},"deleteDownstream":{"type":"boolean"},{{/*
  */}}"requestType":{"type":"string","enum":["mutate","generate","cel-generate","cel-mutate"]},{{/*
  */}}"context":{"type":"object","properties":{"userInfo":{"type":"object","properties":{"userInfo":{{
  template "type.UserInfo" . }},"roles":{{ template "type.NullableList" . }},"clusterRoles":{{
  template "type.NullableList" . }},"synchronize":{"type":"boolean"}}},"admissionRequestInfo":{{
  template "type.AdmissionRequestInfo" . }}}},"ruleContext":{"type":"array",{{/*
  */}}"items":{"type":"object","properties":{"rule":{"type":"string"},"trigger":{{ template
  "type.ResourceSpec" . }},"deleteDownstream":{"type":"boolean"},"synchronize":{"type":"boolean"},{{/*
  */}}"cacheRestore":{"type":"boolean"}},"required":["rule","trigger","deleteDownstream"]}}},{{/*
  */}}"required":["policy","rule","resource","deleteDownstream","context"]},"status":{{ template
  "type.UpdateRequestStatus" . }}}}{{ end }}
{{- define "type.UserInfo" }}{"type":"object","properties":{"username":{"type":"string"},{{/*
  */}}"uid":{"type":"string"},"groups":{"type":"array","items":{"type":"string"}},{{/*
  */}}"extra":{"type":"object","additionalProperties":{"type":"array","items":{"type":"string"}}}}}{{
  end }}
{{- define "type.ValidatingPolicy" }}{"type":"object","description":"Refuses or reports resources {{/*
  */}}by CEL","properties":{"apiVersion":{"type":"string"},"kind":{"type":"string"},{{/*
  */}}"metadata":{"type":"object"},"spec":{"type":"object","properties":{"matchConstraints":{{
  template "type.MatchConstraints" . }},"matchConditions":{"type":"array","items":{{ template
  "type.MatchCondition" . }},"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"]},{{/*
  */}}"variables":{"type":"array","items":{{ template "type.CELVariable" . }},{{/*
  */}}"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"]},{{/*
  */}}"validations":{"type":"array","items":{{ template "type.CELValidation" . }}},{{/*
  */}}"validationActions":{"type":"array","items":{"type":"string","enum":["Deny","Audit","Warn"]},{{/*
  */}}"x-kubernetes-list-type":"set"},"auditAnnotations":{"type":"array","items":{{ template
  "type.AuditAnnotation" . }}},"failurePolicy":{"type":"string","enum":["Ignore","Fail"]},{{/*
  */}}"webhookConfiguration":{{ template "type.TimedWebhook" . }},"evaluation":{{ template
  "type.ValidationEvaluation" . }},"autogen":{"type":"object","properties":{"podControllers":{{
  template "type.PodControllers" . }},"validatingAdmissionPolicy":{{ template "type.Generated" . }}{{/*
  */}}}}}},"status":{{ template "type.GeneratedStatus" . }}},"required":["spec"]}{{ end }}
{{- define "type.Validation" }}{"type":"object","properties":{"message":{"type":"string",{{/*
  */}}"description":"shown to whoever is refused"},"failureAction":{"type":"string","enum":["Audit",{{/*
  */}}"Enforce"]},"failureActionOverrides":{"type":"array","items":{{ template
  "type.FailureActionOverride" . }}},"pattern":{"x-kubernetes-preserve-unknown-fields":true,{{/*
  */}}"description":"what the resource must look like"},{{/*
  */}}"anyPattern":{"x-kubernetes-preserve-unknown-fields":true,"description":"several patterns, {{/*
  */}}one of which must fit"},"foreach":{"type":"array","items":{{ template "type.ForEachValidation"
  . }}},"manifests":{{ template "type.ManifestValidation" . }},"podSecurity":{"type":"object",{{/*
  */}}"properties":{"level":{"type":"string","enum":["privileged","baseline","restricted"]},{{/*
  */}}"version":{"type":"string","enum":["v1.19","v1.20","v1.21","v1.22","v1.23","v1.24","v1.25",{{/*
  */}}"v1.26","v1.27","v1.28","v1.29","v1.30","v1.31","v1.32","latest"]},"exclude":{"type":"array",{{/*
  */}}"items":{{ template "type.PodSecurityExclusion" . }}}}},"cel":{"type":"object",{{/*
  */}}"properties":{"expressions":{"type":"array","items":{{ template "type.CELValidation" . }}},{{/*
  */}}"variables":{"type":"array","items":{{ template "type.CELVariable" . }}},{{/*
  */}}"auditAnnotations":{"type":"array","items":{{ template "type.AuditAnnotation" . }}},{{/*
  */}}"generate":{"type":"boolean","default":false,"description":"make a {{/*
  */}}ValidatingAdmissionPolicy"},"paramKind":{"type":"object","x-kubernetes-map-type":"atomic",{{/*
  */}}"properties":{"apiVersion":{"type":"string"},"kind":{"type":"string"}}},{{/*
  */}}"paramRef":{"type":"object","x-kubernetes-map-type":"atomic",{{/*
  */}}"properties":{"name":{"type":"string"},"namespace":{"type":"string"},"selector":{{ template
  "type.LabelSelector" . }},"parameterNotFoundAction":{"type":"string"}}}}},{{/*
  */}}"assert":{"x-kubernetes-preserve-unknown-fields":true,"description":"assertion tree"},"deny":{{
  template "type.Deny" . }},"allowExistingViolations":{"type":"boolean","default":true}}}{{ end }}
{{- define "type.ValidationEvaluation" }}{"type":"object","properties":{"mode":{"type":"string",{{/*
  */}}"description":"Kubernetes (default) or JSON"},"admission":{{ template "type.Enabled" . }},{{/*
  */}}"background":{{ template "type.Enabled" . }}}}{{ end }}
{{- define "type.ValidationV2" }}{"type":"object","properties":{"message":{"type":"string",{{/*
  */}}"description":"shown to whoever is refused"},"failureAction":{"type":"string","enum":["Audit",{{/*
  */}}"Enforce"]},"failureActionOverrides":{"type":"array","items":{{ template
  "type.FailureActionOverride" . }}},"pattern":{"x-kubernetes-preserve-unknown-fields":true,{{/*
  */}}"description":"what the resource must look like"},{{/*
  */}}"anyPattern":{"x-kubernetes-preserve-unknown-fields":true,"description":"several patterns, {{/*
  */}}one of which must fit"},"foreach":{"type":"array","items":{{ template "type.ForEachValidation"
  . }}},"manifests":{{ template "type.ManifestValidation" . }},"podSecurity":{"type":"object",{{/*
  */}}"properties":{"level":{"type":"string","enum":["privileged","baseline","restricted"]},{{/*
  */}}"version":{"type":"string","enum":["v1.19","v1.20","v1.21","v1.22","v1.23","v1.24","v1.25",{{/*
  */}}"v1.26","v1.27","v1.28","v1.29","v1.30","v1.31","v1.32","latest"]},"exclude":{"type":"array",{{/*
  */}}"items":{{ template "type.PodSecurityExclusion" . }}}}},"cel":{"type":"object",{{/*
  */}}"properties":{"expressions":{"type":"array","items":{{ template "type.CELValidation" . }}},{{/*
  */}}"variables":{"type":"array","items":{{ template "type.CELVariable" . }}},{{/*
  */}}"auditAnnotations":{"type":"array","items":{{ template "type.AuditAnnotation" . }}},{{/*
  */}}"generate":{"type":"boolean","default":false,"description":"make a {{/*
  */}}ValidatingAdmissionPolicy"},"paramKind":{"type":"object","x-kubernetes-map-type":"atomic",{{/*
  */}}"properties":{"apiVersion":{"type":"string"},"kind":{"type":"string"}}},{{/*
  */}}"paramRef":{"type":"object","x-kubernetes-map-type":"atomic",{{/*
  */}}"properties":{"name":{"type":"string"},"namespace":{"type":"string"},"selector":{{ template
  "type.LabelSelector" . }},"parameterNotFoundAction":{"type":"string"}}}}},{{/*
  */}}"assert":{"x-kubernetes-preserve-unknown-fields":true,"description":"assertion tree"},{{/*
  */}}"deny":{"type":"object","properties":{"conditions":{{ template "type.StrictConditions" . }}{{/*
  */}}}}}}{{ end }}
