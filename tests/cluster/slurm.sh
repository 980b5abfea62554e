#!/usr/bin/env bash
# A Slurm of one node with a munge of its own, in a temporary folder: a cost sweep as an array of three tasks, merged, must
# be the file that one process measures; and a comparison as an array of two tasks have the distances of one process.  slurm.sh PROGRAM. Ends with 77 where Slurm or munge is not installed.
set -euo pipefail
program=$1
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export PATH="$PATH:/usr/sbin:/sbin"
for tool in slurmctld slurmd sbatch sinfo munged; do
  command -v "$tool" >/dev/null || {
    echo "skipped: $tool is not here (on Debian: apt-get install slurmctld slurmd slurm-client munge)"
    exit 77
  }
done

folder=$(mktemp -d /tmp/precast-slurm-XXXXXX)
chmod 755 "$folder"  # munge checks who may write above its files
pids=()
finish() {
  local code=$?
  if [ "$code" != 0 ]; then tail -n 20 "$folder"/*.log "$folder"/*.out 2>/dev/null || true; fi
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  rm -rf "$folder"
  exit "$code"
}
trap finish EXIT

port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
host=$(hostname -s)
mkdir -m 755 "$folder/munge" "$folder/state" "$folder/spool"
(umask 077; head -c 1024 /dev/urandom >"$folder/munge/key")
munged --foreground --force --key-file "$folder/munge/key" --socket "$folder/munge/socket" \
  --pid-file "$folder/munge/pid" --seed-file "$folder/munge/seed" --log-file "$folder/munge/log" \
  >"$folder/munge.log" 2>&1 &
pids+=($!)
cat >"$folder/slurm.conf" <<END
ClusterName=precast
SlurmctldHost=$host(127.0.0.1)
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
AuthInfo=socket=$folder/munge/socket
CredType=cred/munge
SlurmctldPort=$(port)
SlurmdPort=$(port)
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=10 State=UP
END
export SLURM_CONF="$folder/slurm.conf"
for _ in $(seq 50); do [ -S "$folder/munge/socket" ] && break; sleep 0.1; done
slurmctld -D >"$folder/slurmctld.out" 2>&1 &
pids+=($!)
slurmd -D >"$folder/slurmd.out" 2>&1 &
pids+=($!)
for _ in $(seq 300); do sinfo -h -o %t 2>/dev/null | grep -q idle && break; sleep 0.1; done
sinfo -h -o %t | grep -q idle || { echo "the node is not idle: $(sinfo 2>&1)"; exit 1; }

cd "$folder"
model=$source/tests/golden/models/dev_f32
"$program" record --model "$model" --prompt "a red circle" --width 32 --height 16 --steps 4 --every 2 \
  --max-sequence-length 8 --precision f32 --output samples.safetensors --quiet
cost=("$program" cost --model "$model" --samples samples.safetensors --types fp8_e4m3,bf16 --policy f32 --threads 1 --quiet)
"${cost[@]}" --output whole.json >/dev/null

# As in docs/cluster.md.
cat >sweep.sbatch <<END
#!/bin/bash
#SBATCH --job-name=cost --array=1-3 --ntasks=1 --output=task-%a.out
$(printf '%q ' "${cost[@]}") --output part.json --shard auto
END
sbatch --wait --parsable sweep.sbatch
"${cost[@]:0:2}" --quiet --output merged.json --merge part-{1,2,3}-of-3.json >/dev/null
cmp merged.json whole.json

compare=("$program" compare --model shapes --prompt "a red ring" --width 64 --height 64 --steps 1 --policies f32,bf16
  --threads 1 --quiet)
distances() { python3 -c 'import json, sys; print([(p["name"], p["psnr"], p["mse"]) for p in json.load(sys.stdin)["policies"]])'; }
whole=$("${compare[@]}" --output whole.png --json | distances)
cat >compare.sbatch <<END
#!/bin/bash
#SBATCH --job-name=compare --array=1-2 --ntasks=1 --output=compare-task-%a.out
$(printf '%q ' "${compare[@]}") --output compare.json --shard auto
END
sbatch --wait --parsable compare.sbatch
merged=$("$program" compare --quiet --json --output merged.png --merge compare-{1,2}-of-2.json | distances)
[ "$merged" = "$whole" ] || { echo "merged: $merged; one process: $whole"; exit 1; }
echo "tasks of Slurm arrays, merged, are the whole"
