#!/bin/sh
# Finds Moore Threads' compiler and GPU. MUSA_HOME is where the toolkit lies.
#
#     sh tools/mcc.sh          the path of mcc, quoted for a shell; or nothing
#     sh tools/mcc.sh arch     mp_21, mp_22 or mp_31, of the GPU; or nothing
export LC_ALL=C

if [ "${1:-}" = arch ]; then
    # llama.cpp, ggml-cuda/common.cuh: which card has which architecture.
    mthreads-gmi 2> /dev/null | awk '
        / S80([^0-9]|$)/ || / S3000([^0-9]|$)/ { print "mp_21"; exit }
        / S4000([^0-9]|$)/ { print "mp_22"; exit }
        / S5000([^0-9]|$)/ { print "mp_31"; exit }'
    exit 0
fi
for mcc in "$(command -v mcc)" "${MUSA_HOME:-}/bin/mcc" \
    /usr/local/musa/bin/mcc; do
    if [ ! -f "$mcc" ] || [ ! -x "$mcc" ]; then continue; fi
    printf "'%s'\n" "$(printf '%s' "$mcc" | sed "s/'/'\\\\''/g")"
    exit 0
done
