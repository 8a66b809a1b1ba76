#!/usr/bin/env bash
# Question: a name has the addresses of three clusters; is each of them the first one in some answers of each DNS server?
# Versions: bind9 9.18.49, nsd 4.6.1, knot 3.2.6, pdns-server 4.7.3 with its BIND backend, gdnsd 3.8.1 (Debian 12), dnspython
#   2.9.2 (PyPI).
# One would guess: yes; that is how DNS spreads clients, most of which take the first address.
# What is: in BIND and gdnsd. NSD and Knot give one order for ever, so that clients go to the first cluster, unless
#   `round-robin` or `answer-rotation` is on. PowerDNS gives one order for as long as its cache holds the answer.
set -euo pipefail
source "$(dirname "$0")/support/debian.sh"
work=$(mktemp -d)
servers=()
trap 'for server in "${servers[@]}"; do kill "$server" 2> /dev/null || true; done; wait; rm -rf "$work"' EXIT
cd "$work"
debian "$work/root" bind9=1:9.18.49-1~deb12u3 nsd=4.6.1-1 knot=3.2.6-1 pdns-server=4.7.3-2 pdns-backend-bind=4.7.3-2 gdnsd=3.8.1-1
python3 -m venv env
env/bin/pip install -qq dnspython==2.9.2
mkdir -p knot{,2} bind pdns{,2} nsd{,2} gdnsd/{zones,run,state}
read -r -a ports < <(python3 -c 'import socket
held = [socket.create_server(("127.0.0.1", 0)) for _ in range(8)]
print(*(one.getsockname()[1] for one in held))')
cat > zone <<'ZONE'
$ORIGIN example.org.
$TTL 300
@ IN SOA ns1 host 1 3600 600 86400 300
@ IN NS ns1
ns1 IN A 192.0.2.9
web IN A 192.0.2.1
web IN A 192.0.2.2
web IN A 192.0.2.3
ZONE
cp zone gdnsd/zones/example.org
cat > bind.conf <<CONFIG
options {
  directory "$work/bind"; pid-file "$work/bind/pid"; session-keyfile "$work/bind/key"; recursion no;
  listen-on port ${ports[0]} { 127.0.0.1; }; listen-on-v6 { none; };
};
controls { };
zone "example.org" { type primary; file "$work/zone"; };
CONFIG
cat > nsd.conf <<CONFIG
server:
    ip-address: 127.0.0.1@${ports[1]}
    username: ""
    chroot: ""
    zonesdir: "$work"
    database: ""
    pidfile: "$work/nsd/pid"
    xfrdfile: "$work/nsd/xfrd"
    xfrdir: "$work/nsd"
    zonelistfile: "$work/nsd/zones"
remote-control:
    control-enable: no
zone:
    name: example.org
    zonefile: zone
CONFIG
cat > knot.conf <<CONFIG
server:
    listen: 127.0.0.1@${ports[2]}
    rundir: $work/knot
database:
    storage: $work/knot
zone:
  - domain: example.org
    storage: $work
    file: zone
CONFIG
cat > pdns/pdns.conf <<CONFIG
launch=bind
bind-config=$work/pdns/named.conf
module-dir=$work/root/usr/lib/x86_64-linux-gnu/pdns
local-address=127.0.0.1
local-port=${ports[3]}
socket-dir=$work/pdns
CONFIG
echo "zone \"example.org\" { type master; file \"$work/zone\"; };" > pdns/named.conf
cat > gdnsd/config <<CONFIG
options => { run_dir => "$work/gdnsd/run", state_dir => "$work/gdnsd/state", listen => "127.0.0.1:${ports[4]}" }
CONFIG
# The same servers with other settings.
sed "s/@${ports[1]}/@${ports[5]}/; s#$work/nsd#$work/nsd2#; s/^server:/&\n    round-robin: yes/" nsd.conf > nsd2.conf
sed "s/@${ports[2]}/@${ports[6]}/; s#$work/knot#$work/knot2#; s/^server:/&\n    answer-rotation: on/" knot.conf > knot2.conf
sed "s/port=${ports[3]}/port=${ports[7]}/; s#socket-dir=.*#socket-dir=$work/pdns2#" pdns/pdns.conf > pdns2/pdns.conf
printf 'cache-ttl=0\nquery-cache-ttl=0\n' >> pdns2/pdns.conf
of "$work/root" sbin/named -f -c bind.conf > bind.log 2>&1 &
servers+=($!)
of "$work/root" sbin/nsd -d -c nsd.conf > nsd.log 2>&1 &
servers+=($!)
of "$work/root" sbin/knotd -c knot.conf > knot.log 2>&1 &
servers+=($!)
of "$work/root" sbin/pdns_server --config-dir=pdns > pdns.log 2>&1 &
servers+=($!)
of "$work/root" sbin/gdnsd -c gdnsd start > gdnsd.log 2>&1 &
servers+=($!)
for other in "sbin/nsd -d -c nsd2.conf" "sbin/knotd -c knot2.conf" "sbin/pdns_server --config-dir=pdns2"; do
  # shellcheck disable=SC2086
  of "$work/root" $other > other.log 2>&1 &
  servers+=($!)
done

cat > ask.py <<'ASK'
import sys
import time

import dns.exception
import dns.message
import dns.query

SERVERS = ("BIND", "NSD", "Knot", "PowerDNS", "gdnsd")
OTHERS = ("NSD with round-robin", "Knot with answer-rotation", "PowerDNS without caches")

for server, port in zip(SERVERS + OTHERS, map(int, sys.argv[1:]), strict=True):
    first: set[str] = set()
    asked = tried = 0
    while asked < 60:
        tried += 1
        if tried > 400:
            sys.exit(f"no answer of {server}")
        question = dns.message.make_query("web.example.org.", "A")
        try:
            (records,) = dns.query.udp(question, "127.0.0.1", port=port, timeout=2).answer
        except (OSError, ValueError, dns.exception.DNSException):
            time.sleep(0.1)
            continue
        asked += 1
        first.add(records[0].address)
    print(f"{server}: {len(first)} of 3 are first in some answer")
ASK
env/bin/python ask.py "${ports[@]}" | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
BIND: 3 of 3 are first in some answer
NSD: 1 of 3 are first in some answer
Knot: 1 of 3 are first in some answer
PowerDNS: 1 of 3 are first in some answer
gdnsd: 3 of 3 are first in some answer
NSD with round-robin: 3 of 3 are first in some answer
Knot with answer-rotation: 3 of 3 are first in some answer
PowerDNS without caches: 3 of 3 are first in some answer
EXPECTED
