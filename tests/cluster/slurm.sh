#!/usr/bin/env bash
# A Slurm of one node with a munge of its own, in a temporary folder.  slurm.sh PROGRAM sweeps|training
#   sweeps    a cost sweep as an array of three tasks, merged, must be the file that one process measures; a comparison as an
#             array of two have the distances of one process; and a benchmark as an array of two its cases.
#   training  the script of docs/cluster.md, put back into the queue after its first checkpoint, must go on from that, and end
#             at the bits of a run that nobody stopped.
# Ends with 77 where Slurm or munge, or for training Open MPI, is not there.
set -euo pipefail
program=$1
what=$2
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export PATH="$PATH:/usr/sbin:/sbin"
for tool in slurmctld slurmd sbatch sinfo munged; do
  command -v "$tool" >/dev/null || {
    echo "skipped: $tool is not here (on Debian: apt-get install slurmctld slurmd slurm-client munge)"
    exit 77
  }
done
if [ "$what" = training ] && ! { command -v mpirun >/dev/null && [ -e "$(dirname "$program")/precast_mpi.so" ]; }; then
  echo "skipped: there is no mpirun, or this build has no MPI (on Debian: apt-get install libopenmpi-dev openmpi-bin)"
  exit 77
fi

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
SchedulerParameters=sched_interval=1,batch_sched_delay=0
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
if [ "$what" = training ]; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
  export OMPI_MCA_orte_tmpdir_base=$folder  # not shared with other tests, which may end it
  head -c 20000 "$source/README.md" >book.txt
  tiny="--steps 3000 --width 16 --heads 2 --layers 1 --batch 2 --context 8 --sample 0 --quiet --threads 1"
  # One node of two cores, and a tiny model; all else is the page's.
  awk '/^```sh$/ {script = ""; inside = 1; next} /^```$/ {if (script ~ /--requeue/) printf "%s", script; inside = 0}
       inside {script = script $0 "\n"}' "$source/docs/cluster.md" |
    sed -e 's/--nodes=4/--nodes=1/' -e 's/--cpus-per-task=16/--cpus-per-task=1/' -e 's/--time=[0-9:]*/--time=5/' \
      -e "s|mpirun precast train|mpirun --oversubscribe $program train|" -e "s/--threads 16 --steps 20000/$tiny/" >train.sbatch
  grep -q -- "$tiny" train.sbatch || { echo "docs/cluster.md has another script: $(cat train.sbatch)"; exit 1; }
  job=$(sbatch --parsable train.sbatch)
  state() { scontrol show job "$job" | grep -o "$1=[^ ]*" | cut -d= -f2; }
  for _ in $(seq 200); do [ -e book/checkpoint.safetensors ] && break; sleep 0.05; done
  scontrol requeue "$job"
  for _ in $(seq 300); do [ "$(state JobState)" = PENDING ] && break; sleep 0.1; done
  # It would wait for two minutes. Credentials are told apart by the second: of the one in which it was stopped none is valid.
  sleep 2
  scontrol update JobId="$job" StartTime=now
  for _ in $(seq 300); do
    case $(state JobState) in COMPLETED | FAILED | CANCELLED | TIMEOUT) break ;; esac
    sleep 0.1
  done
  [ "$(state JobState) $(state Restarts)" = "COMPLETED 1" ] || { scontrol show job "$job"; cat train-*.out; exit 1; }
  # shellcheck disable=SC2086
  mpirun -n 2 --oversubscribe "$program" train --data book.txt --output whole $tiny >/dev/null
  cmp book/checkpoint.safetensors whole/checkpoint.safetensors
  echo "a job that was put back into the queue went on with the same bits"
  exit
fi

model=$source/tests/golden/models/dev_f32
"$program" record --model "$model" --prompt "a red circle" --width 32 --height 16 --steps 4 --every 2 \
  --max-sequence-length 8 --precision f32 --output samples.safetensors --quiet
cost=("$program" cost --model "$model" --samples samples.safetensors --types fp8_e4m3,bf16 --policy f32 --threads 1 --quiet)
"${cost[@]}" --output whole.json >/dev/null

# `sbatch --wait` asks every 2 to 10 seconds.
to_its_end() {
  local job
  job=$(sbatch --parsable "$1")
  while [ -n "$(squeue -h -j "$job")" ]; do sleep 0.1; done
  ! scontrol show job "$job" | grep -o 'JobState=.*' | grep -v COMPLETED
}

# As in docs/cluster.md.
cat >sweep.sbatch <<END
#!/bin/bash
#SBATCH --job-name=cost --array=1-3 --ntasks=1 --output=task-%a.out
$(printf '%q ' "${cost[@]}") --output part.json --shard auto
END
to_its_end sweep.sbatch
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
to_its_end compare.sbatch
merged=$("$program" compare --quiet --json --output merged.png --merge compare-{1,2}-of-2.json | distances)
[ "$merged" = "$whole" ] || { echo "merged: $merged; one process: $whole"; exit 1; }
if "$program" bench --help >/dev/null 2>&1; then  # a build may have no policy of training
bench=("$program" bench lm --sizes tiny --contexts 16,32,64 --warmup 0 --steps 1 --policies f32,bf16 --batch 1 --threads 1 --quiet)
cases() { python3 -c 'import json, sys; print([(r["case"], r["context_length"], r["policy"], r["status"]) for r in json.load(open(sys.argv[1]))["rows"]])' "$1"; }
"${bench[@]}" --json whole.bench.json >/dev/null
cat >bench.sbatch <<END
#!/bin/bash
#SBATCH --job-name=bench --array=1-2 --ntasks=1 --output=bench-task-%a.out
$(printf '%q ' "${bench[@]}") --json bench.json --shard auto
END
to_its_end bench.sbatch
"$program" bench lm --quiet --json merged.bench.json --merge bench-{1,2}-of-2.json >/dev/null
[ "$(cases merged.bench.json)" = "$(cases whole.bench.json)" ] || { echo "merged: $(cases merged.bench.json)"; exit 1; }
fi
echo "tasks of Slurm arrays, merged, are the whole"
