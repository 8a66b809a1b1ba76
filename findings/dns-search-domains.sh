#!/usr/bin/env bash
# Question: `db.team` in a Pod, whose resolv.conf has search domains and `ndots:5`, is a Service; do resolver libraries find
#   it?
# Versions: dnspython 2.9.2, pycares 5.2.1 (PyPI), Node's own dns.Resolver.
# One would guess: yes; dnspython and pycares read that file, and c-ares, which Node has too, knows search domains.
# What is: none does. All ask for `db.team.` itself, and get another name's address if there is one. dnspython searches when
#   it is asked with `search=True`. Write names to the end, such as `db.team.svc.cluster.local`, where such a library
#   resolves them.
set -euo pipefail
work=$(mktemp -d)
server=
trap '[[ -z $server ]] || kill "$server"; rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq dnspython==2.9.2 pycares==5.2.1
printf 'search team.svc.cluster.local svc.cluster.local\nnameserver 127.0.0.1\noptions ndots:5\n' > resolv.conf
cat > serve.py <<'SERVE'
import socket
from pathlib import Path

import dns.flags
import dns.message
import dns.rcode
import dns.rrset

ADDRESSES = {"db.team.svc.cluster.local.": "10.0.0.1", "db.team.": "192.0.2.9"}
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 0))
Path("port").write_text(str(server.getsockname()[1]))
while True:
    data, client = server.recvfrom(4096)
    question = dns.message.from_wire(data)
    name = question.question[0].name.to_text()
    answer = dns.message.make_response(question)
    answer.flags |= dns.flags.AA | dns.flags.RA
    if name in ADDRESSES:
        answer.answer.append(dns.rrset.from_text(name, 5, "IN", "A", ADDRESSES[name]))
    else:
        answer.set_rcode(dns.rcode.NXDOMAIN)
    with open("asked", "a") as asked:
        asked.write(name + "\n")
    server.sendto(answer.to_wire(), client)
SERVE
env/bin/python serve.py &
server=$!
for _ in $(seq 100); do [[ ! -s port ]] || break; sleep 0.1; done
cat > ask.py <<'ASK'
import sys
import threading

import dns.resolver
import pycares

library, name, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
if library.startswith("dnspython"):
    resolver = dns.resolver.Resolver("resolv.conf")
    resolver.port = port
    try:
        print(resolver.resolve(name, "A", search=True if "search" in library else None)[0])
    except dns.resolver.NXDOMAIN:
        print("NXDOMAIN")
else:
    done = threading.Event()

    def tell(result: pycares.DNSResult | None, error: int | None) -> None:
        print(result.answer[0].data.addr if result and error is None else "NXDOMAIN")
        done.set()

    channel = pycares.Channel(udp_port=port, tcp_port=port, resolvconf_path="resolv.conf", servers=["127.0.0.1"])
    channel.query(name, pycares.QUERY_TYPE_A, callback=tell)
    done.wait(20)
ASK
cat > ask.cjs <<'ASK'
const [name, port] = process.argv.slice(2);
const resolver = new (require("dns").promises.Resolver)();
resolver.setServers([`127.0.0.1:${port}`]);
resolver.resolve4(name).then(([address]) => console.log(address), () => console.log("NXDOMAIN"));
ASK
export LOCALDOMAIN='team.svc.cluster.local svc.cluster.local' RES_OPTIONS=ndots:5
for name in db db.team; do
  echo "$name:"
  for library in dnspython 'dnspython search=True' pycares Node; do
    : > asked
    case $library in
      Node) said=$(node ask.cjs "$name" "$(< port)") ;;
      *) said=$(env/bin/python ask.py "$library" "$name" "$(< port)") ;;
    esac
    echo "  $library: $said, asked for" $(< asked)
  done
done | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
db:
  dnspython: NXDOMAIN, asked for db.
  dnspython search=True: 10.0.0.1, asked for db.team.svc.cluster.local.
  pycares: NXDOMAIN, asked for db.
  Node: NXDOMAIN, asked for db.
db.team:
  dnspython: 192.0.2.9, asked for db.team.
  dnspython search=True: 10.0.0.1, asked for db.team.team.svc.cluster.local. db.team.svc.cluster.local.
  pycares: 192.0.2.9, asked for db.team.
  Node: 192.0.2.9, asked for db.team.
EXPECTED
