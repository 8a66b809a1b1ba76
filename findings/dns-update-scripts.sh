#!/usr/bin/env bash
# Question: a DNS update is written for nsupdate of BIND; do knsupdate of Knot and dnspython make the same update of its
#   words?
# Versions: bind9-dnsutils 9.18.49, knot-dnsutils 3.2.6 (Debian 12), dnspython 2.9.2 (PyPI).
# One would guess: yes, and after `zone example.org` a name without a dot at its end is one of that zone, as in a zone file.
# What is: a CNAME to `shop` leads to `shop.` by both programs, and to `shop.example.org.` by dnspython. Of a TXT record
#   without quotes knsupdate and dnspython drop what stands behind a `;`, and tell nobody; nsupdate keeps it. knsupdate alone
#   takes `1h`, or no TTL at all.
set -euo pipefail
source "$(dirname "$0")/support/debian.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
debian "$work/root" bind9-dnsutils=1:9.18.49-1~deb12u3 knot-dnsutils=3.2.6-1
python3 -m venv env
env/bin/pip install -qq dnspython==2.9.2
cat > by_python.py <<'PYTHON'
import sys

import dns.exception
import dns.message
import dns.update

name, *words = sys.argv[1].split(" ", 3)
try:
    update = dns.update.UpdateMessage("example.org.")
    update.add(name, int(words[0]), words[1], words[2])
    print(dns.message.from_wire(update.to_wire()).update[0].to_text())
except (ValueError, dns.exception.DNSException):
    print("refused")
PYTHON
while read -r record; do
  echo "$record"
  for program in nsupdate knsupdate; do
    printf 'server 127.0.0.1\nzone example.org.\nupdate add %s\nshow\n' "$record" > script
    shown=$(of root bin/$program < script 2> log | grep '^www' || true)
    echo "  $program: $(sed 's/[ \t][ \t]*/ /g' <<< "${shown:-refused}")"
  done
  echo "  dnspython: $(env/bin/python by_python.py "$record")"
done <<'RECORDS' | tee seen
www.example.org. 60 A 192.0.2.1
www.example.org. 60 CNAME shop
www.example.org. 60 MX 10 mail
www.example.org. 60 TXT a;b
www.example.org. 60 TXT "a;b"
www.example.org. 1h A 192.0.2.1
www.example.org. A 192.0.2.1
RECORDS
diff -u - seen <<'EXPECTED' && echo "as told"
www.example.org. 60 A 192.0.2.1
  nsupdate: www.example.org. 60 IN A 192.0.2.1
  knsupdate: www.example.org. 60 IN A 192.0.2.1
  dnspython: www.example.org. 60 IN A 192.0.2.1
www.example.org. 60 CNAME shop
  nsupdate: www.example.org. 60 IN CNAME shop.
  knsupdate: www.example.org. 60 IN CNAME shop.
  dnspython: www.example.org. 60 IN CNAME shop.example.org.
www.example.org. 60 MX 10 mail
  nsupdate: www.example.org. 60 IN MX 10 mail.
  knsupdate: www.example.org. 60 IN MX 10 mail.
  dnspython: www.example.org. 60 IN MX 10 mail.example.org.
www.example.org. 60 TXT a;b
  nsupdate: www.example.org. 60 IN TXT "a;b"
  knsupdate: www.example.org. 60 IN TXT "a"
  dnspython: www.example.org. 60 IN TXT "a"
www.example.org. 60 TXT "a;b"
  nsupdate: www.example.org. 60 IN TXT "a;b"
  knsupdate: www.example.org. 60 IN TXT "a;b"
  dnspython: www.example.org. 60 IN TXT "a;b"
www.example.org. 1h A 192.0.2.1
  nsupdate: refused
  knsupdate: www.example.org. 3600 IN A 192.0.2.1
  dnspython: refused
www.example.org. A 192.0.2.1
  nsupdate: refused
  knsupdate: www.example.org. 3600 IN A 192.0.2.1
  dnspython: refused
EXPECTED
