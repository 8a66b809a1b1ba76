#!/usr/bin/env bash
# Question: do libraries read a zone file as servers do, with TTLs such as `1h`, and records that take the name above them?
# Versions: dnspython 2.9.2, zonefile-parser 0.1.20 (PyPI), zone-file 1.0.0, dns-zonefile 0.3.2 (npm), BIND 9.18.49 (Debian 12).
# One would guess: yes, or an error; units are old, and every server of DNS writes them.
# What is: zone-file reads `1h` as one second. A TTL between name and class becomes the type in zonefile-parser (`1H30M`).
#   The name that a record takes from above is `IN` to one, the zone's own to another. None of it is an error. BIND and
#   dnspython agree.
set -euo pipefail
source "$(dirname "$0")/support/debian.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
debian "$work/root" bind9-utils=1:9.18.49-1~deb12u3
python3 -m venv env
env/bin/pip install -qq dnspython==2.9.2 zonefile-parser==0.1.20
echo '{}' > package.json
npm install --silent --no-audit --no-fund zone-file@1.0.0 dns-zonefile@0.3.2

cat > zone <<'ZONE'
$ORIGIN example.org.
$TTL 1h
@ IN SOA ns1 host ( 1 1h 10m 2w 5m )
@ IN NS ns1
ns1 IN A 192.0.2.1
web 1h30m IN A 192.0.2.2
api IN 60 A 192.0.2.3
    IN A 192.0.2.4
ZONE
cat > read.py <<'READ'
import dns.rdataclass
import dns.rdatatype
import dns.zone
import zonefile_parser

print("dnspython")
for name, ttl, rdata in dns.zone.from_file("zone", "example.org.", relativize=False).iterate_rdatas("A"):
    print(f"  {name} {ttl} A {rdata}")
print("zonefile-parser")
with open("zone") as file:
    for record in zonefile_parser.parse(file.read()):
        if record.rtype not in ("SOA", "NS"):
            print(f"  {record.name} {record.ttl} {record.rtype} {record.rdata['value']}")
READ
cat > read.mjs <<'READ'
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
const require = createRequire(process.cwd() + "/");
const text = readFileSync("zone", "utf8");
const libraries = { "zone-file": require("zone-file").parseZoneFile, "dns-zonefile": (await import("dns-zonefile")).default.parse };
for (const [library, parse] of Object.entries(libraries)) {
  let zone;
  try {
    zone = parse(text);
  } catch (error) {
    console.log(`${library}: ${error.message}`);
    continue;
  }
  console.log(`${library}: $TTL ${zone.$ttl}`);
  for (const { name, ttl, ip } of zone.a) console.log(`  ${name} ${ttl ?? zone.$ttl} A ${ip}`);
}
READ
{
  echo "BIND"
  of "$work/root" bin/named-compilezone -q -D -o - example.org zone | awk '$4 == "A" {print "  " $1, $2, $4, $5}'
  env/bin/python read.py
  node read.mjs
} | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
BIND
  api.example.org. 60 A 192.0.2.3
  api.example.org. 60 A 192.0.2.4
  ns1.example.org. 3600 A 192.0.2.1
  web.example.org. 5400 A 192.0.2.2
dnspython
  ns1.example.org. 3600 A 192.0.2.1
  web.example.org. 5400 A 192.0.2.2
  api.example.org. 60 A 192.0.2.3
  api.example.org. 60 A 192.0.2.4
zonefile-parser
  ns1.example.org. 3600 A 192.0.2.1
  web.example.org. 3600 1H30M IN
  api.example.org. 3600 60 A
  example.org. 3600 A 192.0.2.4
zone-file: $TTL 1
  ns1 1 A 192.0.2.1
  web 1 A 192.0.2.2
  api 1 A 192.0.2.3
  IN 1 A 192.0.2.4
dns-zonefile: $TTL 1h
  ns1 1h A 192.0.2.1
  ns1 1h A 192.0.2.4
EXPECTED
