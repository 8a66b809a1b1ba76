{{/*
Gives sections that are missing their defaults: `helm upgrade --reuse-values` brings those of the older chart alone.
Only whole sections: a value that is null was taken out on purpose.
*/}}
{{- define "leeward.defaults" -}}
{{- range $section, $default := fromYaml (.Files.Get "files/values.yaml") }}
{{- if not (hasKey $.Values $section) }}{{ $_ := set $.Values $section $default }}{{ end }}
{{- end }}
{{- end }}

{{/* The image of every container. */}}
{{- define "leeward.image" -}}
{{- with .Values.image -}}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end }}

{{/* Metadata of an object of the component `.name`; leeward-init and controllers know the namespace by this name. */}}
{{- define "leeward.metadata" -}}
metadata:
  name: {{ .name }}
  namespace: karmada-system
  labels:
    app: {{ .name }}
    app.kubernetes.io/name: leeward
    app.kubernetes.io/instance: {{ .root.Release.Name }}
    app.kubernetes.io/component: {{ .name | trimPrefix "leeward-" }}
    app.kubernetes.io/managed-by: {{ .root.Release.Service }}
    helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}

{{/*
The Deployment of a component, with its disruption budget and its network policy.

  root, name        the chart, and the name of the Deployment, of its Pods' label and of its container
  values            replicas, args and resources
  account           the service account; the name where it is left out
  command           verb and arguments that the chart decides
  ports             [{name, port}]
  probe             {port, scheme, ready}; `ready` is a path
  secrets           [{name, secret, path, optional keys}] that are mounted
  ingress           rules of the network policy, as text
*/}}
{{- define "leeward.component" }}
{{- $pods := .root.Values.pods }}
apiVersion: apps/v1
kind: Deployment
{{ include "leeward.metadata" . }}
spec:
  replicas: {{ .values.replicas }}
  selector: {matchLabels: {app: {{ .name }}}}
  template:
    metadata:
      labels: {{ toJson (merge (dict "app" .name) $pods.labels) }}
      {{- with $pods.annotations }}
      annotations: {{ toJson . }}
      {{- end }}
    spec:
      serviceAccountName: {{ .account | default .name }}
      {{- with .root.Values.image.pullSecrets }}
      imagePullSecrets: {{ toJson . }}
      {{- end }}
      {{- with $pods.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      {{- with $pods.nodeSelector }}
      nodeSelector: {{ toJson . }}
      {{- end }}
      {{- with $pods.tolerations }}
      tolerations: {{ toJson . }}
      {{- end }}
      {{- with $pods.affinity }}
      affinity: {{ toJson . }}
      {{- end }}
      {{- with .root.Values.spreading }}
      {{- if .enabled }}
      topologySpreadConstraints:
        {{- range $key := .topologyKeys }}
        - maxSkew: 1
          topologyKey: {{ $key }}
          whenUnsatisfiable: {{ $.root.Values.spreading.whenUnsatisfiable }}
          labelSelector: {matchLabels: {app: {{ $.name }}}}
        {{- end }}
      {{- end }}
      {{- end }}
      securityContext: {runAsNonRoot: true, fsGroup: 65532, seccompProfile: {type: RuntimeDefault}}
      containers:
        - name: {{ .container }}
          image: "{{ include "leeward.image" .root }}"
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          command: {{ toJson (prepend .command "/opt/leeward/bin/leeward") }}
          args: {{ toJson .values.args }}
          resources: {{ toJson .values.resources }}
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities: {drop: [ALL]}
          volumeMounts:
            - {name: tmp, mountPath: /tmp}
            {{- range .secrets }}
            - {name: {{ .name }}, mountPath: {{ .path }}, readOnly: true}
            {{- end }}
          ports:
            {{- range .ports }}
            - {name: {{ .name }}, containerPort: {{ .port }}}
            {{- end }}
          livenessProbe:
            httpGet: {path: /healthz, port: {{ .probe.port }}, scheme: {{ .probe.scheme | default "HTTP" }}}
          readinessProbe:
            httpGet: {path: {{ .probe.ready | default "/readyz" }}, port: {{ .probe.port }}, scheme: {{ .probe.scheme | default "HTTP" }}}
      volumes:
        # Certificates and keys pass through files on their way into TLS.
        - {name: tmp, emptyDir: {medium: Memory, sizeLimit: 16Mi}}
        {{- range .secrets }}
        - {name: {{ .name }}, secret: {secretName: {{ .secret }}, defaultMode: 288}}
        {{- end }}
{{- if and .root.Values.podDisruptionBudget.enabled (gt (int .values.replicas) 1) }}
---
{{- if semverCompare ">=1.21-0" .root.Capabilities.KubeVersion.Version }}
apiVersion: policy/v1
{{- else }}
apiVersion: policy/v1beta1
{{- end }}
kind: PodDisruptionBudget
{{ include "leeward.metadata" . }}
spec:
  maxUnavailable: 1
  selector: {matchLabels: {app: {{ .name }}}}
{{- end }}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
{{ include "leeward.metadata" . }}
spec:
  podSelector: {matchLabels: {app: {{ .name }}}}
  policyTypes: [Ingress, Egress]
  ingress:
    # Kubelets, kube-apiservers and users come from addresses that nobody can select.
    {{- range .ports }}
    {{- if hasPrefix "metrics" .name }}
    - from: {{ toJson $.root.Values.networkPolicy.metricsFrom }}
      ports: [{port: {{ .port }}}]
    {{- else }}
    - ports: [{port: {{ .port }}}]
    {{- end }}
    {{- end }}
  egress:
    # API servers, the members' among them, are anywhere; a machine's metadata service is at none of them.
    - to:
        - ipBlock: {cidr: 0.0.0.0/0, except: [169.254.0.0/16]}
        - ipBlock: {cidr: "::/0", except: ["fe80::/10"]}
    # A name server of the node's own may be link-local.
    - ports: [{port: 53, protocol: UDP}, {port: 53, protocol: TCP}]
{{- end }}

{{/* The Service of a component: root, name, port, targetPort. */}}
{{- define "leeward.service" }}
apiVersion: v1
kind: Service
{{ include "leeward.metadata" . }}
spec:
  selector: {app: {{ .name }}}
  ports: [{name: {{ .portName | default "https" }}, port: {{ .port | default 443 }}, targetPort: {{ .targetPort }}}]
{{- end }}

{{/* How the scheduler and the descheduler reach estimators: flags, as a list. */}}
{{- define "leeward.estimatorFlags" -}}
{{- range $flag, $file := dict "ca" "ca.crt" "cert" "tls.crt" "key" "tls.key" }}
- --scheduler-estimator-{{ $flag }}-file=/estimators/{{ $file }}
{{- end }}
{{- end }}
{{- define "leeward.estimatorSecret" -}}
name: estimators
path: /estimators
secret: {{ required "estimator.clientTlsSecret: name the Secret with ca.crt, tls.crt and tls.key with which estimators are asked" .Values.estimator.clientTlsSecret }}
{{- end }}

{{/* Ports of the controller manager's metrics: its own, and one for each shard, a hundred above the one before. */}}
{{- define "leeward.managerMetrics" -}}
- {name: metrics, port: 8080}
{{- $shards := int .Values.controllerManager.shards }}
{{- range $shard := until (ternary $shards 0 (gt $shards 1)) }}
- {name: metrics-{{ $shard }}, port: {{ add 8180 (mul 100 $shard) }}}
{{- end }}
{{- end }}
