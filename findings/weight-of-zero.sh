#!/usr/bin/env bash
# Question: a cluster is drained, and its weight at a proxy becomes 0, as an HTTPRoute of the Gateway API takes it; do proxies
#   take it?
# Versions: haproxy 2.6.12, nginx 1.22.1, apache 2.4.71 (Debian 12).
# One would guess: yes: it gets no new requests.
# What is: only haproxy does. nginx refuses `weight=0`, and `0%` in split_clients; apache refuses `loadfactor=0`. Both have to
#   leave the server out, or to mark it otherwise.
set -euo pipefail
source "$(dirname "$0")/support/debian.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
debian "$work/root" haproxy=2.6.12-1+deb12u4 nginx-core=1.22.1-9+deb12u11 apache2-bin=2.4.71-1~deb12u1
by_haproxy() {
  cat > haproxy.cfg <<CONFIG
defaults
  mode http
  timeout connect 1s
  timeout client 1s
  timeout server 1s
frontend front
  bind 127.0.0.1:8080
  default_backend back
backend back
  server a 127.0.0.1:8081 weight $1
  server b 127.0.0.1:8082 weight 10
CONFIG
  of root sbin/haproxy -c -f haproxy.cfg
}
by_nginx() {
  cat > nginx.conf <<CONFIG
pid $work/pid;
error_log stderr;
events {}
http {
  access_log off;
  client_body_temp_path $work/body; proxy_temp_path $work/proxy; fastcgi_temp_path $work/fastcgi;
  uwsgi_temp_path $work/uwsgi; scgi_temp_path $work/scgi;
  $1
  server { listen unix:$work/socket; }
}
CONFIG
  of root sbin/nginx -t -c "$work/nginx.conf"
}
by_apache() {
  {
    printf 'ServerRoot %s\nServerName a\nPidFile %s/pid\nListen 127.0.0.1:8080\nErrorLog %s/errors\n' "$work" "$work" "$work"
    for module in mpm_event authz_core proxy proxy_http slotmem_shm proxy_balancer lbmethod_byrequests; do
      echo "LoadModule ${module}_module $work/root/usr/lib/apache2/modules/mod_$module.so"
    done
    printf '<Proxy balancer://back>\nBalancerMember http://127.0.0.1:8081 loadfactor=%s\n</Proxy>\n' "$1"
  } > apache.conf
  of root sbin/apache2 -t -f "$work/apache.conf"
}
told() {
  local name=$1
  shift
  "$@" > log 2>&1 && echo "$name: taken" || echo "$name: refused"
}
for weight in 1 0; do
  told "haproxy, weight $weight" by_haproxy $weight
  told "nginx, weight=$weight" by_nginx "upstream back { server 127.0.0.1:8081 weight=$weight; server 127.0.0.1:8082; }"
  told "nginx, split_clients $weight%" by_nginx "split_clients \$request_id \$to { $weight% a; * b; }"
  told "apache, loadfactor=$weight" by_apache $weight
done | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
haproxy, weight 1: taken
nginx, weight=1: taken
nginx, split_clients 1%: taken
apache, loadfactor=1: taken
haproxy, weight 0: taken
nginx, weight=0: refused
nginx, split_clients 0%: refused
apache, loadfactor=0: refused
EXPECTED
