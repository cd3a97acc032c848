# Of nvdisasm's listing, which is given twice, the kernels: names, the labels that
# are branched to, and instructions, without the padding, which begins with a
# branch to itself.
NR == FNR {
    if (match($0, /`\(\.L_x_[0-9]+\)/))
        used[substr($0, RSTART + 2, RLENGTH - 3)]++
    next
}
/^\.text\./ { sub(/^\.text\./, ""); sub(/:$/, ""); print }
/^\.L_x_/ { label = $1; sub(/:$/, "", label) }
/^ +\/\*[0-9a-f]+\*\// {
    sub(/^[^*]*\*[0-9a-f]+\*\/ +/, "")
    sub(/^\{ +/, "") # two at once, on old GPUs
    sub(/ *(;| [}(][*]?).*/, "")
    if ($1 == "NOP" || $0 == "BRA `(" label ")") next
    if (label in used) print "  " label ":"
    label = ""
    print "    " $0
}
