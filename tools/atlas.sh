#!/bin/sh
# The atlas of docs/atomics.md: what compilers make of each atomic, for each
# architecture, read from their machine code. results/README.md tells more.
usage='Usage: atlas.sh ARCH...          rows of the atlas: of sm_90, gfx942, ...
       atlas.sh --listing ARCH   the machine code that they are read from
       atlas.sh --write          write results/atlas/ anew: make atlas
Compilers: nvcc; below sm_75 NVCC_OLD=..., nvcc of CUDA 11.8 with nvdisasm
beside it; for gfx CLANG=..., clang-19 if it is not set.'

export LC_ALL=C
NVIDIA='sm_60 sm_61 sm_62 sm_70 sm_72 sm_75 sm_80 sm_86 sm_87 sm_88'
NVIDIA="$NVIDIA sm_89 sm_90 sm_100 sm_103 sm_110 sm_120 sm_121"
AMD='gfx908 gfx90a gfx942 gfx1030 gfx1100 gfx1200'
CLANG=${CLANG:-clang-19}
HEAD=gpu,operation,type,memory,flags,kind,instruction,unused,known,by

fail() { printf 'atlas: %s\n' "$*" >&2; exit 2; }
quoted() { printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")"; }
here=$(dirname "$0")

# For sm_$1 sets nvcc, a command as a shell reads it, nvdisasm, and by.
find_nvcc() {
    if [ "$1" -lt 75 ]; then
        [ -x "${NVCC_OLD-}" ] || fail "sm_$1 needs NVCC_OLD=..., nvcc of" \
            'CUDA 11.8: results/README.md says how to get it'
        nvcc=$(quoted "$NVCC_OLD")
        nvdisasm=$(dirname "$NVCC_OLD")/nvdisasm
        [ -x "$nvdisasm" ] || fail "there is no nvdisasm beside $NVCC_OLD"
    else
        nvcc=$(sh "$here/nvcc.sh")
        [ -n "$nvcc" ] ||
            fail "sm_$1 needs nvcc: install the CUDA Toolkit, or set NVCC"
        for nvdisasm in "$(command -v nvdisasm)" \
            /usr/local/cuda/bin/nvdisasm "$here/../.venv/bin/nvdisasm" ''; do
            [ ! -x "$nvdisasm" ] || break
        done
        [ -n "$nvdisasm" ] ||
            fail 'needs nvdisasm, of the CUDA Toolkit or of ./setup --test'
    fi
    by=$(eval "$nvcc --version" | sed -n 's/.*, V\([0-9.]*\)$/nvcc \1/p')
    [ -n "$by" ] || fail "$nvcc does not say its version"
}

# The kernels of nvidia.cu for sm_$1.
nvidia() {
    eval "$nvcc -std=c++17 -O3 -arch=sm_$1 -cubin" \
        -o '"$tmp/cubin" "$here/atlas/nvidia.cu"' > "$tmp/said" 2>&1 ||
        fail "$by: $(head -n 1 "$tmp/said")"
    "$nvdisasm" -c "$tmp/cubin" > "$tmp/sass" 2> "$tmp/said" ||
        fail "$nvdisasm: $(head -n 1 "$tmp/said") (older than nvcc?)"
    awk -f "$here/sass.awk" "$tmp/sass" "$tmp/sass"
}

# Adds to pairs in LLVM's own language, each function with attribute $1.
packed() {
    for pair in 'half2 <2 x half>' 'bf162 <2 x bfloat>'; do
        for memory in 'global 1' 'shared 3'; do
            name=add_${pair%% *}_${memory% *} type=${pair#* }
            to="ptr addrspace(${memory#* })"
            add="%i = call i32 @llvm.amdgcn.workitem.id.x()
                %at = getelementptr $type, $to %g, i32 %i
                %old = atomicrmw fadd $to %at, $type %v \
                    syncscope(\"agent-one-as\") monotonic"
            cat <<END
define amdgpu_kernel void @${name}_unused($to %g, $type %v) #0 {
    $add
    ret void
}
define amdgpu_kernel void @$name($to %g, $type %v, ptr addrspace(1) %o) #0 {
    $add
    store $type %old, ptr addrspace(1) %o
    ret void
}
END
        done
    done
    echo "declare i32 @llvm.amdgcn.workitem.id.x()
        attributes #0 = { nounwind $1 }"
}

# The kernels of amd.cu and the pairs for $1, with the flag $2 or none.
amd() {
    packed "${2:+\"amdgpu-unsafe-fp-atomics\"=\"true\"}" > "$tmp/packed.ll"
    { "$CLANG" -x hip --cuda-device-only -nogpulib -nogpuinc -O2 -S \
          --offload-arch="$1" ${2:+"$2"} -o "$tmp/s" "$here/atlas/amd.cu" &&
      "$CLANG" -x ir --target=amdgcn-amd-amdhsa -nogpulib -O2 -S \
          -mcpu="$1" -o "$tmp/packed.s" "$tmp/packed.ll"; } \
        > "$tmp/said" 2>&1 || fail "$by: $(head -n 1 "$tmp/said")"
    cat "$tmp/s" "$tmp/packed.s" | awk '
        /^[a-z][a-z0-9_]*:/ { sub(/:.*/, ""); print }
        /^\.LBB/ { print "  " $1 }
        /^\t[a-z]/ {
            sub(/^\t/, "")
            sub(/ *;.*/, "")
            gsub(/\t/, " ")
            print "    " $0
        }'
}

rows() {
    awk -v gpu="$1" -v flags="$2" -v by="$by" \
        -v executed="$here/atlas/executed" -f "$here/atlas/rows.awk"
}
show() {
    printf '%s, %s\n\n' "$by" "$1${2:+ $2}"
    cat
}

# Calls $1 ARCH FLAG for each architecture that follows, its listing on stdin.
each() {
    action=$1
    shift
    for arch; do
        case " $NVIDIA $AMD " in
        *" $arch "*) ;;
        *) fail "unknown architecture \"$arch\"; there are $NVIDIA $AMD" ;;
        esac
        case $arch in
        sm_*)
            find_nvcc "${arch#sm_}"
            nvidia "${arch#sm_}" > "$tmp/listing" || exit 2
            "$action" "$arch" '' < "$tmp/listing" || exit 2 ;;
        gfx*)
            by=$("$CLANG" --version 2> /dev/null |
                sed -n 's/.*clang version \([0-9.]*\).*/clang \1/p')
            [ -n "$by" ] ||
                fail "$arch needs clang 19: install clang-19, or set CLANG"
            for flag in '' -munsafe-fp-atomics; do
                amd "$arch" "$flag" > "$tmp/listing" || exit 2
                "$action" "$arch" "$flag" < "$tmp/listing" || exit 2
            done ;;
        esac
    done
}

tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
trap 'exit 2' HUP INT TERM
case ${1-} in
'') printf '%s\n' "$usage" >&2; exit 2 ;;
--help) printf '%s\n' "$usage" ;;
--listing)
    [ $# = 2 ] || fail '--listing takes an architecture'
    text=$(each show "$2") || exit
    printf '%s\n' "$text" ;;
--write)
    [ $# = 1 ] || fail '--write takes nothing'
    home=$here/../results/atlas
    { mkdir "$tmp/new" && mkdir -p "$home"; } || exit
    # shellcheck disable=SC2086 # lists of words
    { { echo $HEAD && each rows $NVIDIA; } > "$tmp/new/nvidia.csv" &&
      { echo $HEAD && each rows $AMD; } > "$tmp/new/amd.csv" &&
      each show sm_90 > "$tmp/new/nvidia.sm_90.txt" &&
      each show gfx90a > "$tmp/new/amd.gfx90a.txt"; } || exit
    for file in "$tmp"/new/*; do
        name=$home/$(basename "$file")
        { cp "$file" "$name.new" && mv -f "$name.new" "$name"; } || exit
    done ;;
-*) fail "unknown option \"$1\" (--help lists them)" ;;
*) made=$(each rows "$@") || exit
   printf '%s\n' "$HEAD" "$made" ;;
esac
