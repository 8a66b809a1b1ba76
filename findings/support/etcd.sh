# etcd of Debian 12 in a temporary folder, and the clients of three languages for it.

source "$(dirname "${BASH_SOURCE[0]}")/debian.sh"

# clients_of_etcd: etcd3gw and aetcd in env, the older etcd3 in old, and the client for Node, in the present folder.
clients_of_etcd() {
  python3 -m venv env
  env/bin/pip install -qq etcd3gw==2.7.0 aetcd==1.0.0
  python3 -m venv old
  old/bin/pip install -qq etcd3==0.12.0 protobuf==3.20.3 tenacity==6.3.1
  echo '{}' > package.json
  npm install --silent --no-audit --no-fund etcd3@1.1.2
}

# serve_etcd FOLDER: sets `port` and `server` (its process), and returns when it answers.
serve_etcd() {
  local peers
  read -r port peers < <(python3 -c 'import socket
held = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
print(*(one.getsockname()[1] for one in held))')
  start "$1" bin/etcd --data-dir data --listen-client-urls "http://127.0.0.1:$port" \
    --advertise-client-urls "http://127.0.0.1:$port" --listen-peer-urls "http://127.0.0.1:$peers" \
    --initial-advertise-peer-urls "http://127.0.0.1:$peers" --initial-cluster "default=http://127.0.0.1:$peers" > log 2>&1 &
  server=$!
  for _ in $(seq 100); do ! curl -fs "http://127.0.0.1:$port/health" > health || return 0; sleep 0.1; done
  cat log
  return 1
}
