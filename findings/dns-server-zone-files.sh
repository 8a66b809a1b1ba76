#!/usr/bin/env bash
# Question: does each DNS server take the zone file that another one takes?
# Versions: bind9-utils 9.18.49, nsd 4.6.1, knot 3.2.6, pdns-server 4.7.3 with its BIND backend, gdnsd 3.8.1 (Debian 12).
# One would guess: yes for TTLs with units, for HTTPS records, and for `TYPE65 \#`, the form for types that a server need not
#   know; `$GENERATE` is BIND's own.
# What is: PowerDNS and gdnsd refuse a zone with `1h30m`, though not with `90m`. gdnsd, made for balancing by place and
#   health, has no HTTPS, SVCB and TLSA records but in the form `TYPE65 \#`, which is what PowerDNS refuses for HTTPS. PowerDNS
#   takes `$GENERATE`. BIND refuses an address whose name has `_`.
set -euo pipefail
source "$(dirname "$0")/support/debian.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
debian "$work/root" bind9-utils=1:9.18.49-1~deb12u3 nsd=4.6.1-1 knot=3.2.6-1 pdns-server=4.7.3-2 pdns-backend-bind=4.7.3-2 \
  gdnsd=3.8.1-1
mkdir -p knot pdns gdnsd/{zones,run,state}
cat > knot/knot.conf <<CONFIG
server:
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
socket-dir=$work/pdns
CONFIG
echo "zone \"example.org\" { type master; file \"$work/zone\"; };" > pdns/named.conf
cat > gdnsd/config <<CONFIG
options => { run_dir => "$work/gdnsd/run", state_dir => "$work/gdnsd/state", listen => "127.0.0.1:5353" }
CONFIG

# take RECORD: which servers take a zone that has it.
take() {
  printf '%s\n' '$ORIGIN example.org.' '$TTL 300' '@ IN SOA ns1 host 1 3600 600 86400 300' '@ IN NS ns1' \
    'ns1 IN A 192.0.2.1' "$1" > zone
  cp zone gdnsd/zones/example.org
  local taken=() refused=()
  judge() {
    local name=$1
    shift
    if of "$work/root" "$@" > said 2>&1; then taken+=("$name"); else refused+=("$name"); fi
  }
  judge BIND bin/named-checkzone -k fail -i none example.org zone
  judge NSD sbin/nsd-checkzone example.org zone
  judge Knot sbin/knotc -c knot/knot.conf zone-check example.org
  judge PowerDNS bin/pdnsutil --config-dir=pdns check-zone example.org
  judge gdnsd sbin/gdnsd -c gdnsd checkconf
  echo "$1"
  echo "  taken by: ${taken[*]:-nobody}"
  echo "  refused by: ${refused[*]:-nobody}"
}
{
  take 'web 90m IN A 192.0.2.2'
  take 'web 1h30m IN A 192.0.2.2'
  take 'web IN HTTPS 1 . alpn=h2,h3 port=8443'
  take 'web IN TYPE65 \# 3 000100'
  take '_443._tcp.web IN TLSA 3 1 1 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
  take '$GENERATE 1-3 node$ A 192.0.2.$'
  take 'node_1 IN A 192.0.2.2'
} | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
web 90m IN A 192.0.2.2
  taken by: BIND NSD Knot PowerDNS gdnsd
  refused by: nobody
web 1h30m IN A 192.0.2.2
  taken by: BIND NSD Knot
  refused by: PowerDNS gdnsd
web IN HTTPS 1 . alpn=h2,h3 port=8443
  taken by: BIND NSD Knot PowerDNS
  refused by: gdnsd
web IN TYPE65 \# 3 000100
  taken by: BIND NSD Knot gdnsd
  refused by: PowerDNS
_443._tcp.web IN TLSA 3 1 1 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
  taken by: BIND NSD Knot PowerDNS
  refused by: gdnsd
$GENERATE 1-3 node$ A 192.0.2.$
  taken by: BIND PowerDNS
  refused by: NSD Knot gdnsd
node_1 IN A 192.0.2.2
  taken by: NSD Knot PowerDNS gdnsd
  refused by: BIND
EXPECTED
