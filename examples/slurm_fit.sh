#!/usr/bin/env bash
# Train one model on four nodes of a Slurm cluster:
#
#     sbatch examples/slurm_fit.sh train.parquet class model.deciban
#
# Each node runs the same command, and all read the table from a folder that they share. The node
# of process 0 writes the model, and a checkpoint beside it: after a timeout, submit it again.
#SBATCH --job-name=deciban-fit
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --time=04:00:00
#SBATCH --signal=INT@60
set -euo pipefail
table=$1 label=$2 model=$3

first=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
port=$((20000 + SLURM_JOB_ID % 10000))

# srun tells each process its number, which `deciban fit` reads where --processes has none.
srun deciban fit "$table" --label "$label" --output "$model" \
    --coordinator "$first:$port" --processes "$SLURM_NTASKS"
