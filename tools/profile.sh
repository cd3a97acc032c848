#!/bin/sh
# Counts one run of a lesson with Nsight Compute: the kernel's time, and the
# atomic requests that reached the L2 cache.
#
#     sh tools/profile.sh ./lesson1 lessons/v0_half/v0_half.cu
#
# It takes the kernel dot_…, which lessons 1 to 3 have.
#
# The clocks are left alone: by default ncu locks them to base, and a published
# time may differ from yours for that reason alone.
set -eu
export LC_ALL=C
fail() { printf '%s\n' "$*" >&2; exit 2; }

[ "${BACKEND:-}" = cuda ] || fail "profile needs an NVIDIA GPU: the CPU emulation has no L2 counters"
grep -q '__global__ void dot_' "$2" ||
    fail "profile counts one launch of lessons 1 to 3; for others give ncu a kernel's name"
command -v ncu > /dev/null || fail "profile needs ncu (Nsight Compute), which comes with the CUDA Toolkit"

exec ncu --clock-control none --kernel-name 'regex:^dot_' --launch-count 1 \
    --metrics gpu__time_duration.sum,lts__t_requests_srcunit_tex_op_atom.sum,lts__t_requests_srcunit_tex_op_red.sum \
    "$1" --runs 1
