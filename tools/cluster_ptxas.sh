#!/bin/sh
# What ptxas makes of adds to pairs of halves in another block's shared memory:
# an atomic, or LD, IADD, ST, which loses adds. docs/atomics.md tells more;
# results/cluster/ holds what this printed.
usage='Usage: cluster_ptxas.sh PTXAS...            a table, a row for each ptxas
       cluster_ptxas.sh --sass ARCH PTXAS   the machine code, as of sm_90

PyPI has ptxas of each release, as bin/ptxas in the wheels of nvidia-cuda-nvcc
(CUDA 13), nvidia-cuda-nvcc-cu12 and nvidia-cuda-nvcc-cu11. nvdisasm, the
disassembler, must be as new as the newest of them: NVDISASM=... names it.'

export LC_ALL=C
fail() { printf 'cluster_ptxas: %s\n' "$*" >&2; exit 2; }

sass=''
case ${1-} in
'') printf '%s\n' "$usage" >&2; exit 2 ;;
--help) printf '%s\n' "$usage"; exit ;;
--sass) [ $# = 3 ] || fail '--sass takes an architecture and a ptxas'
        sass=$2; shift 2 ;;
-*) fail "unknown option \"$1\" (--help lists them)" ;;
esac
here=$(dirname "$0")
for nvdisasm in "${NVDISASM-}" "$(command -v nvdisasm)" \
    /usr/local/cuda/bin/nvdisasm "$here/../.venv/bin/nvdisasm" ''; do
    [ ! -x "$nvdisasm" ] || break
done
[ -n "$nvdisasm" ] ||
    fail 'needs nvdisasm, of the CUDA Toolkit or of ./setup --test'
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
trap 'exit 2' HUP INT TERM

# A kernel: its NAME, the BITS of the address, the INSTRUCTION.
kernel() {
    cat <<END
.visible .entry $1(.param .u$2 to, .param .b32 addend)
{
    .reg .b$2 %at;
    .reg .b32 %old, %v;
    ld.param.u$2 %at, [to];
    ld.param.b32 %v, [addend];
    $3, %v;
    ret;
}
END
}
# Each type at an address in any memory, as of atomicAdd, and at one that is
# named as the cluster's. A float is the example of how it should be.
{
    printf '.version 7.8\n.target sm_90\n.address_size 64\n'
    for type in noftz.f16x2 noftz.bf16x2 f32; do
        name=${type#noftz.}
        kernel "any_$name" 64 "atom.add.$type %old, [%at]"
        [ -z "$sass" ] || continue
        kernel "atom_$name" 32 "atom.shared::cluster.add.$type %old, [%at]"
        kernel "red_$name" 32 "red.shared::cluster.add.$type [%at]"
    done
} > "$tmp/adds.ptx"

# Prints the release of a ptxas.
release() {
    "$1" --version 2>/dev/null | sed -n 's/.*, V\([0-9.]*\)$/\1/p' | grep . ||
        fail "$1 is no ptxas"
}

# The machine code by ptxas $1 for $2; status 1 if it does not know $2.
listing() {
    "$1" -arch="$2" -o "$tmp/cubin" "$tmp/adds.ptx" >"$tmp/error" 2>&1 || {
        ! grep -q gpu-name "$tmp/error" || return 1
        fail "$1: $(head -n 1 "$tmp/error")"
    }
    "$nvdisasm" -c "$tmp/cubin" >"$tmp/sass" 2>"$tmp/error" ||
        fail "$nvdisasm: $(head -n 1 "$tmp/error") (older than $1?)"
    awk -f "$here/sass.awk" "$tmp/sass" "$tmp/sass"
}

if [ -n "$sass" ]; then
    made=$(release "$1") || exit
    text=$(listing "$1" "$sass") || {
        [ $? != 1 ] || fail "$1 does not know $sass"
        exit 2
    }
    printf 'ptxas %s, %s\n\n%s\n' "$made" "$sass" "$text"
    exit
fi

# shellcheck disable=SC2016
# What is left of a kernel once global memory and the block's own are served: a
# compare-and-swap, or plain instructions. Prints a cell for the pairs and one
# for float; all kernels of a cell must agree.
# shellcheck disable=SC2016
verdict='
function finish(    kind, found) {
    if (kernel == "") return
    kind = kernel ~ /f32$/
    found = cas ? "atomic" : plain ~ /DD ST$/ ? plain : "?"
    cell[kind] = cell[kind] == "" || cell[kind] == found ? found : "?"
}
/^[a-z]/ { finish(); kernel = $1; cas = 0; plain = "" }
{
    op = $1 ~ /^@/ ? $2 : $1
    if (op ~ /^ATOM\.E\.CAS/) cas = 1
    else if (op ~ /^LD\./) plain = "LD"
    else if (plain == "LD" && match(op, /IADD|FADD|HADD/))
        plain = "LD " substr(op, RSTART, RLENGTH)
    else if (plain ~ /DD$/ && op ~ /^ST\./) plain = plain " ST"
}
END { finish(); print cell[0] "," cell[1] }'

archs='90 100 103 110 120 121'
append() { printf '%s%-11s' "$1" "$2"; }
heading=''
for arch in $archs; do heading=$(append "$heading" "sm_$arch"); done
pairs=$(printf 'pairs     %s' "$heading")
float=$(printf 'float     %s' "$heading")
for ptxas; do
    made=$(release "$ptxas") || exit
    pairs=$(printf '%s\n%-10s' "$pairs" "$made")
    float=$(printf '%s\n%-10s' "$float" "$made")
    for arch in $archs; do
        case $arch:$made in 110:12.*) arch=101 ;; esac # its name in CUDA 12
        text=$(listing "$ptxas" "sm_$arch")
        case $? in
        0) cells=$(printf '%s\n' "$text" | awk "$verdict") || exit 2 ;;
        1) cells=-,- ;;
        *) exit 2 ;;
        esac
        case $cells in
        *'?'*) fail "$ptxas, sm_$arch: code of a new kind; look at --sass" ;;
        esac
        pairs=$(append "$pairs" "${cells%,*}")
        float=$(append "$float" "${cells#*,}")
    done
done
printf '%s\n\n%s\n' "$pairs" "$float" | sed 's/ *$//'
