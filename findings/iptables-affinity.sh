#!/usr/bin/env bash
# Question: the rules that kube-proxy writes for iptables are translated to nftables; is each of them translated?
# Versions: iptables 1.8.9 (Debian 12).
# One would guess: yes, or iptables-restore-translate ends with an error.
# What is: of a Service with `sessionAffinity: ClientIP` the rules with `recent` become comments, and the exit code is 0. The
#   rule of DNAT to the endpoint is one of them, so that the Service leads nowhere.
set -euo pipefail
source "$(dirname "$0")/support/debian.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
debian "$work/root" iptables=1.8.9-2
export XTABLES_LIBDIR=$work/root/usr/lib/x86_64-linux-gnu/xtables
cat > rules <<'RULES'
*nat
:KUBE-SVC-A - [0:0]
:KUBE-SEP-A - [0:0]
-A KUBE-SVC-A -m recent --rcheck --seconds 10800 --reap --name KUBE-SEP-A --mask 255.255.255.255 --rsource -j KUBE-SEP-A
-A KUBE-SVC-A -m statistic --mode random --probability 0.50000000000 -j KUBE-SEP-A
-A KUBE-SEP-A -p tcp -m recent --set --name KUBE-SEP-A --mask 255.255.255.255 --rsource -m tcp -j DNAT --to-destination 10.1.0.5:80
COMMIT
RULES
{
  of root sbin/xtables-nft-multi iptables-restore-translate -f rules 2>&1 | sed '/^# [TC][a-z]* /d; s/ *$//'
  echo "exit code ${PIPESTATUS[0]}"
} | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
add table ip nat
add chain ip nat KUBE-SVC-A
add chain ip nat KUBE-SEP-A
# -t nat -A KUBE-SVC-A -m recent --rcheck --seconds 10800 --reap --name KUBE-SEP-A --mask 255.255.255.255 --rsource -j KUBE-SEP-A
add rule ip nat KUBE-SVC-A meta random & 2147483647 < 1073741824 counter jump KUBE-SEP-A
# -t nat -A KUBE-SEP-A -p tcp -m recent --set --name KUBE-SEP-A --mask 255.255.255.255 --rsource -m tcp -j DNAT --to-destination 10.1.0.5:80
exit code 0
EXPECTED
