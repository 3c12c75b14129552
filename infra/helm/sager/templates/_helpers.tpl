{{- define "sager.name" -}}
{{- default (printf "%s-sager" .Release.Name) .Values.fullnameOverride | trunc 45 | trimSuffix "-" -}}
{{- end -}}

{{- define "sager.selector" -}}
app.kubernetes.io/name: sager
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "sager.labels" -}}
{{ include "sager.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end -}}

{{- define "sager.metadata" -}}
name: {{ include "sager.name" .root }}{{ with .suffix }}-{{ . }}{{ end }}
labels: {{- include "sager.labels" . | nindent 2 }}
{{- end -}}

{{- define "sager.image" -}}
{{- with .Values.image -}}
{{- .repository -}}{{- if .digest -}}@{{ .digest }}{{- else -}}:{{ default $.Chart.AppVersion .tag }}{{- end -}}
{{- end -}}
{{- end -}}

{{/* A setting as its variable has it. Numbers go through JSON: Go writes a million as 1e+06. */}}
{{- define "sager.setting" -}}
{{- if kindIs "string" . -}}{{ . }}{{- else -}}{{ toJson . }}{{- end -}}
{{- end -}}

{{/* What the values have to say together. */}}
{{- define "sager.check" -}}
{{- $secrets := .Values.secrets -}}
{{- $settings := .Values.settings -}}
{{- if not $settings.bootstrap -}}{{ fail "settings.bootstrap: name Kafka's bootstrap servers, as kafka:9092" }}{{- end -}}
{{- $most := ternary (include "sager.most" . | int) (int .Values.worker.replicas) .Values.worker.keda.enabled -}}
{{- if and (gt $most 1) (not (hasKey $secrets "pseudonym_key")) (not (hasKey $secrets "chain_key")) -}}
{{- fail "secrets.pseudonym_key (or chain_key) is needed with more than one worker: without a common one they give one user several pseudonyms. `openssl rand -hex 32` makes one" -}}
{{- end -}}
{{- if gt $most (int $settings.partitions) -}}
{{- fail (printf "%d workers share %v partitions: some would have none" $most $settings.partitions) -}}
{{- end -}}
{{- if and .Values.api.enabled (not (hasKey $secrets "http_tokens")) -}}
{{- fail "secrets.http_tokens is needed for the API: what `sager token new --name NAME --scope read-all` prints. Or set api.enabled=false" -}}
{{- end -}}
{{- if and .Values.api.console (not .Values.api.enabled) -}}{{ fail "api.console needs api.enabled" }}{{- end -}}
{{- if and .Values.webhooks.enabled (not (hasKey $secrets "webhooks")) -}}{{ fail "webhooks.enabled needs secrets.webhooks: the file of docs/webhooks.md" }}{{- end -}}
{{- if and .Values.metrics.protected (not (hasKey $secrets "http_tokens")) -}}{{ fail "metrics.protected needs secrets.http_tokens" }}{{- end -}}
{{- end -}}

{{- define "sager.most" -}}
{{- .Values.worker.keda.max | default .Values.settings.partitions -}}
{{- end -}}

{{/* The settings of secrets that name a file: mounted, where the others are variables. */}}
{{- define "sager.files" -}}
kafka_ssl_ca kafka_ssl_certificate kafka_ssl_key http_certificate http_key http_tokens vouched webhooks
{{- end -}}

{{/* The secrets that a process gets, of all that the values name: no more than it needs. */}}
{{- define "sager.secretsOf" -}}
{{- $kafka := list "kafka_sasl_password" "kafka_ssl_ca" "kafka_ssl_certificate" "kafka_ssl_key" "kafka_ssl_key_password" -}}
{{- $more := dict
  "webhooks" (list "webhooks")
  "worker" (list "chain_key" "pseudonym_key" "llm_api_key" "vouched")
  "materializer" (list "chain_key")
  "api" (list "chain_key" "pseudonym_key" "vouched" "http_tokens" "http_certificate" "http_key") -}}
{{- $names := concat $kafka (get $more .process | default list) -}}
{{- if and .root.Values.metrics.protected (ne .process "topics") -}}{{- $names = append $names "http_tokens" -}}{{- end -}}
{{- $found := dict -}}
{{- range $name, $from := .secrets -}}
{{- if has $name $names -}}
{{- $own := hasKey $from "value" -}}
{{- $secret := ternary (printf "%s-%s" (include "sager.name" $.root) $.own) (default $.root.Values.existingSecret $from.secret) $own -}}
{{- if not $secret -}}{{ fail (printf "secrets.%s: name the Secret with `secret`, or all of them with existingSecret" $name) }}{{- end -}}
{{- $_ := set $found $name (dict "secret" $secret "key" (ternary $name (default $name $from.key) $own)) -}}
{{- end -}}
{{- end -}}
{{- toJson $found -}}
{{- end -}}

{{- define "sager.secretEnv" -}}
{{- range $name, $from := fromJson (include "sager.secretsOf" .) }}
- name: SAGER_{{ upper $name }}
  {{- if has $name (splitList " " (include "sager.files" .)) }}
  value: /run/secrets/sager/{{ $name }}
  {{- else }}
  valueFrom:
    secretKeyRef: {name: {{ $from.secret }}, key: {{ $from.key }}}
  {{- end }}
{{- end }}
{{- end -}}

{{/* One volume for all files of a process. */}}
{{- define "sager.secretVolume" -}}
{{- $sources := list -}}
{{- $files := splitList " " (include "sager.files" .) -}}
{{- range $name, $from := fromJson (include "sager.secretsOf" .) -}}
{{- if has $name $files -}}
{{- $item := dict "key" $from.key "path" $name -}}
{{- $sources = append $sources (dict "secret" (dict "name" $from.secret "items" (list $item))) -}}
{{- end -}}
{{- end -}}
{{- with $sources }}
- name: secrets-{{ $.process }}
  projected:
    defaultMode: 0440
    sources: {{- toYaml . | nindent 6 }}
{{- end }}
{{- end -}}

{{- define "sager.container" -}}
image: {{ include "sager.image" .root }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end -}}

{{/* Probes of a long-running process: live says whether to restart it, ready whether it does its work. */}}
{{- define "sager.probes" -}}
livenessProbe:
  httpGet: {path: /live, port: {{ .port }}}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: {path: /ready, port: {{ .port }}}
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: 3
startupProbe:
  httpGet: {path: /live, port: {{ .port }}}
  periodSeconds: 2
  timeoutSeconds: 5
  failureThreshold: 60
{{- end -}}

{{- define "sager.pod" -}}
serviceAccountName: {{ include "sager.name" .root }}
{{- include "sager.anyPod" . | nindent 0 }}
{{- end -}}

{{- define "sager.anyPod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with .root.Values.pods.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.pods.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.pods.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.pods.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}

{{/* Restart pods when their configuration changes. */}}
{{- define "sager.podMetadata" -}}
labels:
  {{- include "sager.labels" . | nindent 2 }}
  {{- with .root.Values.pods.labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
annotations:
  sager.dev/configuration: {{ list .root.Values.settings .root.Values.secrets .root.Values.existingSecret | toJson | sha256sum }}
  {{- with .root.Values.pods.annotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{/* Longer than a process takes for its graceful shutdown. */}}
{{- define "sager.graceSeconds" -}}
{{- add (ceil .Values.settings.shutdown_seconds) 15 -}}
{{- end -}}

{{- define "sager.hosts" -}}
{{- $service := printf "%s-api" (include "sager.name" .) -}}
{{- $found := list $service (printf "%s.%s" $service .Release.Namespace) (printf "%s.%s.svc" $service .Release.Namespace) -}}
{{- with .Values.api.ingress.host -}}{{- $found = append $found . -}}{{- end -}}
{{- join "," $found -}}
{{- end -}}
