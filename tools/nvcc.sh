#!/bin/sh
# Prints the command that runs nvcc, as a shell reads it; nothing where there is
# none. NVCC is that command (nvcc -ccbin g++), or a path, which may have spaces
# and quotes in it. Without it: PATH, $CUDA_HOME, $CUDA_PATH, /usr/local/cuda.
export LC_ALL=C
program() { [ -f "$1" ] && [ -x "$1" ]; }
quoted() {
    case $1 in
    *[!A-Za-z0-9_./+-]*) printf "'%s'\n" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")" ;;
    *) printf '%s\n' "$1" ;;
    esac
}

if [ -n "${NVCC:-}" ]; then
    if program "$NVCC"; then quoted "$NVCC"; exit; fi
    # In a shell of its own, which an unmatched quote ends.
    (eval "set -- $NVCC"; command -v "$1") > /dev/null 2>&1 && printf '%s\n' "$NVCC"
    exit 0
fi
for nvcc in "$(command -v nvcc)" "${CUDA_HOME:-}/bin/nvcc" \
    "${CUDA_PATH:-}/bin/nvcc" /usr/local/cuda/bin/nvcc; do
    if program "$nvcc"; then quoted "$nvcc"; exit; fi
done
