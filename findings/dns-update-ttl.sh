#!/usr/bin/env bash
# Question: does a DNS update (RFC 2136) that adds a record which is there, with another TTL, change the TTL? And what is
#   said of a CNAME that is added beside an address?
# Versions: bind9 9.18.49, knot 3.2.6, pdns-server 4.7.3 (Debian 12), dnspython 2.9.2 (PyPI).
# One would guess: the TTL changes in every server (RFC 2136, 3.4.2.2: the record of the update replaces the one that is
#   there), and the CNAME is passed over without an error.
# What is: Knot answers NOERROR and keeps the old TTL, for as long as no address changes. So a TTL that is lowered before
#   a planned move stays high; delete the records and add them in one update. PowerDNS answers REFUSED to the CNAME.
set -euo pipefail
source "$(dirname "$0")/support/debian.sh"
work=$(mktemp -d)
servers=()
trap 'for server in "${servers[@]}"; do kill "$server"; done; wait; rm -rf "$work"' EXIT
cd "$work"
debian "$work/root" bind9=1:9.18.49-1~deb12u3 knot=3.2.6-1 pdns-server=4.7.3-2 pdns-backend-sqlite3=4.7.3-2 sqlite3
python3 -m venv env
env/bin/pip install -qq dnspython==2.9.2
mkdir knot bind pdns
read -r -a ports < <(python3 -c 'import socket
held = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
print(*(one.getsockname()[1] for one in held))')

cat > zone <<'ZONE'
$ORIGIN example.org.
@ 3600 IN SOA ns1 host 1 3600 600 86400 300
@ 3600 IN NS ns1
ns1 3600 IN A 192.0.2.1
web 3600 IN A 192.0.2.2
ZONE
cp zone knot/zone
cp zone bind/zone
cat > knot.conf <<CONFIG
server:
    listen: 127.0.0.1@${ports[0]}
    rundir: $work/knot
database:
    storage: $work/knot
acl:
  - id: local
    address: 127.0.0.1
    action: update
zone:
  - domain: example.org
    storage: $work/knot
    file: zone
    acl: local
CONFIG
cat > bind.conf <<CONFIG
options {
  directory "$work/bind"; pid-file "$work/bind/pid"; session-keyfile "$work/bind/key"; recursion no;
  listen-on port ${ports[1]} { 127.0.0.1; }; listen-on-v6 { none; };
};
controls { };
zone "example.org" { type primary; file "zone"; allow-update { 127.0.0.1; }; };
CONFIG
cat > pdns/pdns.conf <<CONFIG
launch=gsqlite3
gsqlite3-database=$work/pdns/db
module-dir=$work/root/usr/lib/x86_64-linux-gnu/pdns
local-address=127.0.0.1
local-port=${ports[2]}
socket-dir=$work/pdns
dnsupdate=yes
allow-dnsupdate-from=127.0.0.0/8
cache-ttl=0
query-cache-ttl=0
CONFIG
of "$work/root" bin/sqlite3 pdns/db < root/usr/share/doc/pdns-backend-sqlite3/schema.sqlite3.sql
of "$work/root" bin/pdnsutil --config-dir=pdns load-zone example.org zone > load 2>&1
of "$work/root" sbin/knotd -c knot.conf > knot.log 2>&1 &
servers+=($!)
of "$work/root" sbin/named -f -c bind.conf > bind.log 2>&1 &
servers+=($!)
of "$work/root" sbin/pdns_server --config-dir=pdns > pdns.log 2>&1 &
servers+=($!)

cat > update.py <<'UPDATE'
import sys
import time

import dns.exception
import dns.message
import dns.query
import dns.rcode
import dns.update


def ask(port: int) -> dns.message.Message:
    question = dns.message.make_query("web.example.org.", "A")
    for _ in range(100):
        try:
            return dns.query.tcp(question, "127.0.0.1", port=port, timeout=2)
        except (OSError, dns.exception.DNSException):
            time.sleep(0.1)
    sys.exit(f"no answer on port {port}")


def change(port: int, ttl: int, kind: str, value: str, anew: bool = False) -> str:
    update = dns.update.Update("example.org")
    if anew:
        update.delete("web", kind, value)
    update.add("web", ttl, kind, value)
    code = dns.rcode.to_text(dns.query.tcp(update, "127.0.0.1", port=port, timeout=5).rcode())
    time.sleep(1)
    (records,) = ask(port).answer
    return f"{code}, {len(records)} A with TTL {records.ttl}"


for server, port in zip(("Knot", "BIND", "PowerDNS"), map(int, sys.argv[1:]), strict=True):
    ask(port)
    print(server, "the same address:", change(port, 10, "A", "192.0.2.2"))
    print(server, "deleted and added:", change(port, 15, "A", "192.0.2.2", anew=True))
    print(server, "one address more:", change(port, 20, "A", "192.0.2.3"))
    print(server, "a CNAME:", change(port, 20, "CNAME", "other.example.com."))
UPDATE
env/bin/python update.py "${ports[@]}" | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
Knot the same address: NOERROR, 1 A with TTL 3600
Knot deleted and added: NOERROR, 1 A with TTL 15
Knot one address more: NOERROR, 2 A with TTL 20
Knot a CNAME: NOERROR, 2 A with TTL 20
BIND the same address: NOERROR, 1 A with TTL 10
BIND deleted and added: NOERROR, 1 A with TTL 15
BIND one address more: NOERROR, 2 A with TTL 20
BIND a CNAME: NOERROR, 2 A with TTL 20
PowerDNS the same address: NOERROR, 1 A with TTL 10
PowerDNS deleted and added: NOERROR, 1 A with TTL 15
PowerDNS one address more: NOERROR, 2 A with TTL 20
PowerDNS a CNAME: REFUSED, 2 A with TTL 20
EXPECTED
