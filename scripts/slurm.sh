#!/usr/bin/env bash
# Units by workers that are jobs of Slurm: controller, node and munge on this machine.
#
# As root on Debian: bash scripts/slurm.sh [FILE]. It starts a Slurm of its own in a temporary folder,
# a scheduler of dask, and a run that has no workers yet; then it submits workers as jobs, cancels one
# of them, and submits another. The run must give the same line as one without a cluster. What
# happened is written to FILE (results/trust/slurm.json).
set -eu
cd "$(dirname "$0")/.."
file="${1:-results/trust/slurm.json}"
python="${PYTHON:-.venv/bin/python}"
repeats=30

if ! command -v slurmctld >/dev/null; then
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
        --no-install-recommends slurmctld slurmd slurm-client munge; } >/dev/null
fi
work="$(mktemp -d)"
chmod 755 "$work"
started=()
finish() {
    [ "$?" = 0 ] || cat "$work/err" >&2 2>/dev/null || true
    scancel --user=root >/dev/null 2>&1 || true
    for _ in $(seq 30); do # its jobs outlive Slurm's own processes
        [ -z "$(squeue --noheader 2>/dev/null)" ] && break
        sleep 1
    done
    for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done
    sleep 1
    rm -rf "$work" || true
}
trap finish EXIT

host="$(hostname -s)"
export SLURM_CONF="$work/slurm.conf"
cat > "$SLURM_CONF" <<CONF
ClusterName=omtl
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge.socket
SlurmctldPort=$((20000 + RANDOM % 10000))
SlurmdPort=$((30000 + RANDOM % 10000))
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
MpiDefault=none
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=short Nodes=ALL Default=YES MaxTime=60 State=UP
CONF
mkdir "$work/state" "$work/spool"
dd if=/dev/urandom of="$work/munge.key" bs=128 count=1 2>/dev/null
chmod 400 "$work/munge.key"
munged --foreground --force --socket="$work/munge.socket" --key-file="$work/munge.key" \
    --pid-file="$work/munge.pid" --log-file="$work/munge.log" --seed-file="$work/munge.seed" &
started+=($!)
sleep 1
slurmctld -D > "$work/slurmctld.log" 2>&1 &
started+=($!)
slurmd -D -N "$host" > "$work/slurmd.log" 2>&1 &
started+=($!)
for _ in $(seq 120); do
    sinfo --noheader --format=%T 2>/dev/null | grep -q idle && break
    sleep 1
done
sinfo --noheader --format=%T | grep -q idle || { tail "$work"/slurm*.log >&2; exit 1; }

export PYTHONPATH="$PWD"
port=$((40000 + RANDOM % 10000))
"$python" -m distributed.cli.dask_scheduler --host 127.0.0.1 --port "$port" --no-dashboard \
    --no-show > "$work/scheduler.log" 2>&1 &
started+=($!)
worker() { # a worker is a job with one core
    sbatch --parsable --partition=short --cpus-per-task=1 --output="$work/%j.log" --wrap \
        "exec $python -m distributed.cli.dask_worker tcp://127.0.0.1:$port --nthreads 1 --no-nanny \
        --no-dashboard --host 127.0.0.1 --death-timeout 30"
}
what=(algorithm=dom1 network=ring "repeats=$repeats" dataset.options.n_examples=1000)
begun=$SECONDS
OMTL_HOME="$work/slurm" "$python" -m omtl run "${what[@]}" parallel=dask \
    "parallel.address=tcp://127.0.0.1:$port" > "$work/out" 2> "$work/err" &
run=$!
stored() { # whether a unit is
    "$python" -c 'import pathlib, sys; from omtl.compute.store import Store
sys.exit(not Store(pathlib.Path(sys.argv[1])).keys())' "$work/slurm/store"
}
until grep -q 'has no workers now' "$work/err"; do
    kill -0 "$run"
    sleep 0.2
done
waited="$(grep -c 'has no workers now' "$work/err")"
first="$(worker)"
second="$(worker)"
until stored; do
    kill -0 "$run"
    sleep 0.1
done
state="$(squeue --noheader --format=%T --jobs="$first")"
scancel "$first"
third="$(worker)"
wait "$run"
seconds=$((SECONDS - begun))
mv "$work/slurm/store" "$work/store"  # what is compiled stays, what is computed does not
OMTL_HOME="$work/slurm" "$python" -m omtl run "${what[@]}" parallel=serial > "$work/alone"
head -1 "$work/out" > "$work/line"
head -1 "$work/alone" | cmp - "$work/line"
"$python" - "$file" "$work" <<PY
import json, sys
from pathlib import Path
from omtl.util.host import host
file, work = map(Path, sys.argv[1:])
file.write_text(json.dumps({
    "slurm": "$(slurmctld -V)",
    "workers": "a job with one core each: job $first, cancelled while $state; job $second; job $third",
    "units": $repeats,
    "said while there were no workers": int("$waited"),
    "seconds until the end, with starting the workers": $seconds,
    "line": (work / "line").read_text().strip(),
    "same line without a cluster": True,
    "made by": {name: host()[name] for name in ("commit", "python", "machine", "cores", "system")},
}, indent=2) + "\n")
PY
cat "$file"
