#!/usr/bin/env bash
# Question: may `$ORIGIN` in a zone file name a domain relative to the one before, as any other name may be relative?
# Versions: bind9-utils 9.18.49, nsd 4.6.1, knot 3.2.6 (Debian 12), dnspython 2.9.2 (PyPI).
# One would guess: yes, everywhere; zone files have one format (RFC 1035).
# What is: BIND and dnspython take `$ORIGIN sub` for sub.example.org. NSD and Knot refuse the file.
set -euo pipefail
source "$(dirname "$0")/support/debian.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
debian "$work/root" bind9-utils=1:9.18.49-1~deb12u3 nsd=4.6.1-1 knot-dnssecutils=3.2.6-1
python3 -m venv env
env/bin/pip install -qq dnspython==2.9.2

cat > zone <<'ZONE'
$ORIGIN example.org.
@ 3600 IN SOA ns1 host 1 3600 600 86400 300
@ 3600 IN NS ns1
ns1 3600 IN A 192.0.2.1
$ORIGIN sub
web 60 IN A 192.0.2.2
ZONE
taken() { "$@" > said 2>&1 && echo "takes it" || echo "refuses it"; }
read_by_dnspython() { env/bin/python -c 'import dns.zone; dns.zone.from_file("zone", "example.org")["web.sub"]'; }
{
  echo "BIND $(taken of "$work/root" bin/named-checkzone example.org zone)"
  echo "NSD $(taken of "$work/root" sbin/nsd-checkzone example.org zone)"
  grep -o '\$ORIGIN directive.*' said
  echo "Knot $(taken of "$work/root" bin/kzonecheck -o example.org zone)"
  echo "dnspython $(taken read_by_dnspython)"
  sed -i 's/^$ORIGIN sub$/$ORIGIN sub.example.org./' zone
  echo "with the whole name:"
  echo "NSD $(taken of "$work/root" sbin/nsd-checkzone example.org zone)"
  echo "Knot $(taken of "$work/root" bin/kzonecheck -o example.org zone)"
} | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
BIND takes it
NSD refuses it
$ORIGIN directive requires absolute domain name
Knot refuses it
dnspython takes it
with the whole name:
NSD takes it
Knot takes it
EXPECTED
