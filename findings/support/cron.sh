# Readers of cron schedules in a temporary folder: the library of Kubernetes' CronJobs, and six of Python and Node.
set -euo pipefail
support=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$support/debian.sh"
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
cd "$work"
debian "$work/root" golang-1.19-go=1.19.8-2 golang-1.19-src=1.19.8-2 golang-github-robfig-cron-dev=3.0.1-1
GOROOT=$work/root/usr/lib/go-1.19 GOPATH=$work/root/usr/share/gocode GOCACHE=$work/cache GO111MODULE=off CGO_ENABLED=0 \
  GOFLAGS= HOME=$work root/usr/lib/go-1.19/bin/go build -o kubernetes "$support/cron.go"
python3 -m venv env
env/bin/pip install -qq croniter==7.0.0 cronsim==2.8 apscheduler==3.11.3 tzdata==2026.6
echo '{}' > package.json
npm install --silent --no-audit --no-fund cron-parser@5.10.6 croner@11.0.1 cron@4.4.0

# due START ZONE SCHEDULE: the next three instants of each reader, in UTC; one line for the readers that agree.
due() {
  echo "$3 in $2:"
  {
    ./kubernetes "$@"
    env/bin/python "$support/cron.py" "$@"
    node "$support/cron.mjs" "$@"
  } | env/bin/python -c '
import sys
told = {}
for line in sys.stdin:
    reader, _, due = line.rstrip().partition(": ")
    told.setdefault(due, []).append(reader)
for due, readers in told.items():
    print(f"  {due}: {readers[0]}" + "".join(f", {reader}" for reader in readers[1:]))
'
}
