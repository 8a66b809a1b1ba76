#!/usr/bin/env bash
# Question: a proxy asks for client certificates, and tells the server behind it the user and its groups (`O`) in a header;
#   which groups are these?
# Versions: haproxy 2.6.12, nginx 1.22.1 (Debian 12).
# One would guess: all of the certificate, in its order: `ssl_c_s_dn(O)` of haproxy is the organisations, and
#   `$ssl_client_s_dn` of nginx the name as openssl prints it.
# What is: `ssl_c_s_dn(O)` is the first group alone; each other one has to be asked for by number, and -1 is the last. The
#   whole name has `/` between its parts. nginx writes the parts in the other order.
set -euo pipefail
source "$(dirname "$0")/support/debian.sh"
work=$(mktemp -d)
servers=()
trap 'for server in "${servers[@]}"; do kill "$server"; done; wait; rm -rf "$work"' EXIT
cd "$work"
debian "$work/root" haproxy=2.6.12-1+deb12u4 nginx=1.22.1-9+deb12u11
read -r -a ports < <(python3 -c 'import socket
held = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
print(*(one.getsockname()[1] for one in held))')
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out ca.pem -days 2 -subj /CN=proxy \
  -addext subjectAltName=IP:127.0.0.1 2> log
openssl req -x509 -newkey rsa:2048 -nodes -keyout user.key -out user.pem -days 2 \
  -subj '/O=team:web/O=team:dns, mail/CN=jane' 2> log
cat key.pem ca.pem > both.pem
cat > haproxy.conf <<CONFIG
defaults
  mode http
  timeout connect 5s
  timeout client 5s
  timeout server 5s
frontend users
  bind 127.0.0.1:${ports[0]} ssl crt $work/both.pem ca-file $work/user.pem verify required
  http-request return status 200 content-type text/plain lf-file $work/said
CONFIG
cat > said <<'SAID'
haproxy, ssl_c_s_dn: %[ssl_c_s_dn]
haproxy, ssl_c_s_dn(O): %[ssl_c_s_dn(O)]
haproxy, ssl_c_s_dn(O,2): %[ssl_c_s_dn(O,2)]
haproxy, ssl_c_s_dn(O,-1): %[ssl_c_s_dn(O,-1)]
haproxy, ssl_c_s_dn(,0,rfc2253): %[ssl_c_s_dn(,0,rfc2253)]
SAID
mkdir nginx
cat > nginx.conf <<CONFIG
pid $work/nginx/pid;
error_log $work/nginx/log;
daemon off;
master_process off;
events {}
http {
  access_log off;
  client_body_temp_path $work/nginx/body;
  proxy_temp_path $work/nginx/proxy;
  fastcgi_temp_path $work/nginx/fastcgi;
  uwsgi_temp_path $work/nginx/uwsgi;
  scgi_temp_path $work/nginx/scgi;
  server {
    listen 127.0.0.1:${ports[1]} ssl;
    ssl_certificate $work/ca.pem;
    ssl_certificate_key $work/key.pem;
    ssl_client_certificate $work/user.pem;
    ssl_verify_client on;
    location / {
      default_type text/plain;
      return 200 "nginx, ssl_client_s_dn: \$ssl_client_s_dn\n";
    }
  }
}
CONFIG
start root sbin/haproxy -db -f haproxy.conf > haproxy.log 2>&1 &
servers+=($!)
start root sbin/nginx -c "$work/nginx.conf" -e "$work/nginx/log" > nginx.log 2>&1 &
servers+=($!)
{
  echo "openssl: $(openssl x509 -in user.pem -noout -subject)"
  for port in "${ports[@]}"; do
    for _ in $(seq 100); do
      ! curl -fs --cacert ca.pem --cert user.pem --key user.key -o answer "https://127.0.0.1:$port/" || break
      sleep 0.1
    done
    cat answer
  done
} | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
openssl: subject=O = team:web, O = "team:dns, mail", CN = jane
haproxy, ssl_c_s_dn: /O=team:web/O=team:dns, mail/CN=jane
haproxy, ssl_c_s_dn(O): team:web
haproxy, ssl_c_s_dn(O,2): team:dns, mail
haproxy, ssl_c_s_dn(O,-1): team:dns, mail
haproxy, ssl_c_s_dn(,0,rfc2253): CN=jane,O=team:dns\, mail,O=team:web
nginx, ssl_client_s_dn: CN=jane,O=team:dns\, mail,O=team:web
EXPECTED
