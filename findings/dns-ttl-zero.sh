#!/usr/bin/env bash
# Question: a server of a name that fails over gives its addresses with TTL 0, so that nobody keeps them; do resolvers?
# Versions: unbound 1.17.1, bind9 9.18.49, dnsmasq-base 2.90, pdns-recursor 4.8.8 (Debian 12), dnspython 2.9.2 (PyPI).
# One would guess: no (RFC 1035, 3.2.1: such a record is used for the transaction in progress alone).
# What is: the recursor of PowerDNS keeps the address for a second, and hands it out with TTL 1, so that caches behind it
#   keep it for a second more.
set -euo pipefail
source "$(dirname "$0")/support/debian.sh"
work=$(mktemp -d)
servers=()
trap 'for server in "${servers[@]}"; do kill "$server"; done; wait; rm -rf "$work"' EXIT
cd "$work"
debian "$work/root" unbound=1.17.1-2+deb12u4 bind9=1:9.18.49-1~deb12u3 dnsmasq-base=2.90-4~deb12u2 pdns-recursor=4.8.8-1+deb12u1
python3 -m venv env
env/bin/pip install -qq dnspython==2.9.2
mkdir bind pdns
read -r -a ports < <(python3 -c 'import socket
held = [socket.create_server(("127.0.0.1", 0)) for _ in range(5)]
print(*(one.getsockname()[1] for one in held))')
authority=${ports[4]}
cat > authority.py <<'AUTHORITY'
"""Answers each question for an address of example.org with a new one, of TTL 0."""

import itertools
import socket
import sys

import dns.flags
import dns.message
import dns.rdatatype
import dns.rrset

SOA = dns.rrset.from_text("example.org.", 60, "IN", "SOA", "ns.example.org. host.example.org. 1 3600 600 86400 60")
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", int(sys.argv[1])))
addresses = (f"192.0.2.{number}" for number in itertools.count(1))
while True:
    asked, client = server.recvfrom(4096)
    message = dns.message.from_wire(asked)
    said = dns.message.make_response(message)
    said.flags |= dns.flags.AA
    (question,) = message.question
    if question.rdtype == dns.rdatatype.A:
        said.answer.append(dns.rrset.from_text(question.name, 0, "IN", "A", next(addresses)))
    else:
        said.authority.append(SOA)
    server.sendto(said.to_wire(), client)
AUTHORITY
cat > unbound.conf <<CONFIG
server:
  interface: 127.0.0.1@${ports[0]}
  directory: "$work"
  chroot: ""
  username: ""
  pidfile: "$work/unbound.pid"
  do-not-query-localhost: no
  use-syslog: no
  module-config: "iterator"
  do-ip6: no
stub-zone:
  name: "example.org"
  stub-addr: 127.0.0.1@$authority
remote-control:
  control-enable: no
CONFIG
cat > bind.conf <<CONFIG
options {
  directory "$work/bind"; pid-file "$work/bind/pid"; session-keyfile "$work/bind/key"; dnssec-validation no;
  listen-on port ${ports[1]} { 127.0.0.1; }; listen-on-v6 { none; };
};
controls { };
zone "example.org" { type forward; forward only; forwarders { 127.0.0.1 port $authority; }; };
CONFIG
cat > pdns/recursor.conf <<CONFIG
local-address=127.0.0.1
local-port=${ports[3]}
socket-dir=$work/pdns
forward-zones=example.org=127.0.0.1:$authority
dnssec=off
hint-file=no
CONFIG
env/bin/python authority.py "$authority" &
servers+=($!)
start root sbin/unbound -d -c unbound.conf > unbound.log 2>&1 &
servers+=($!)
start root sbin/named -f -c bind.conf > bind.log 2>&1 &
servers+=($!)
start root sbin/dnsmasq -k -C /dev/null --port "${ports[2]}" --listen-address 127.0.0.1 --bind-interfaces --no-resolv \
  --no-hosts --server="/example.org/127.0.0.1#$authority" --user=root --pid-file= > dnsmasq.log 2>&1 &
servers+=($!)
start root sbin/pdns_recursor --config-dir=pdns > pdns.log 2>&1 &
servers+=($!)
cat > ask.py <<'ASK'
import sys
import time

import dns.exception
import dns.message
import dns.query
import dns.rrset


def ask(port: int, name: str) -> dns.rrset.RRset:
    question = dns.message.make_query(name, "A")
    for _ in range(100):
        try:
            return dns.query.udp(question, "127.0.0.1", port=port, timeout=2).answer[0]
        except (OSError, IndexError, dns.exception.DNSException):
            time.sleep(0.1)
    sys.exit(f"no answer on port {port}")


for resolver, port in zip(("unbound", "BIND", "dnsmasq", "PowerDNS"), map(int, sys.argv[1:]), strict=True):
    ask(port, "begin.example.org")
    answers = [ask(port, "web.example.org") for _ in range(3)]
    addresses = len({answer[0].address for answer in answers})
    print(f"{resolver}: three questions, {addresses} addresses, TTL {max(answer.ttl for answer in answers)}")
ASK
env/bin/python ask.py "${ports[@]:0:4}" | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
unbound: three questions, 3 addresses, TTL 0
BIND: three questions, 3 addresses, TTL 0
dnsmasq: three questions, 3 addresses, TTL 0
PowerDNS: three questions, 1 addresses, TTL 1
EXPECTED
