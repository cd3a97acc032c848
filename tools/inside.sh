#!/bin/sh
# Shows the atomic instructions of each kernel, with what stands around them.
#
#     sh tools/inside.sh ptx|sass sm_90 FILE.cu
#
# NVCC is nvcc, as tools/nvcc.sh has it. SASS needs nvdisasm (or cuobjdump, which
# calls it), from the CUDA Toolkit or from ./setup --test.
set -eu
export LC_ALL=C
kind=$1 arch=$2 source=$3
fail() { printf '%s\n' "$*" >&2; exit 2; }

NVCC=$(if [ -n "${NVCC:-}" ]; then sh tools/nvcc.sh; fi)
[ -n "$NVCC" ] || fail "$kind needs nvcc: install the CUDA Toolkit, or set NVCC or CUDA_HOME"

compile() { eval "$NVCC -arch=\"\$arch\" -O3 -Icommon -Iinclude \"\$@\""; }
nvcc=$(eval "set -- $NVCC"; command -v "$1" || true)

# The first of these that there is.
find_tool() {
    for tool in "$(command -v "$1" || true)" ".venv/bin/$1" \
        "$(dirname "$nvcc")/$1" "${CUDA_HOME:-}/bin/$1" "${CUDA_PATH:-}/bin/$1"; do
        if [ -x "$tool" ]; then
            printf '%s\n' "$tool"
            return
        fi
    done
}

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
trap 'exit 130' HUP INT TERM # not every sh does the other then

if [ "$kind" = ptx ]; then
    compile -ptx -o "$out/ptx" "$source"
    cat "$out/ptx" > "$out/listing"
else
    nvdisasm=$(find_tool nvdisasm)
    cuobjdump=$(find_tool cuobjdump)
    [ -n "$nvdisasm$cuobjdump" ] ||
        fail "$kind needs nvdisasm or cuobjdump: from the CUDA Toolkit, or ./setup --test"
    compile -cubin -o "$out/cubin" "$source"
    if [ -n "$nvdisasm" ]; then
        "$nvdisasm" -c "$out/cubin" > "$out/listing"
    else
        "$cuobjdump" -sass "$out/cubin" > "$out/listing"
    fi
fi
listing=$(awk -f tools/inside.awk "$out/listing")
printf '%s for %s, from %s\n%s\n' "$kind" "$arch" "$source" "$listing"
