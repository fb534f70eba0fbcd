# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Puts clocked probes at the entries of functions, in the compiler's assembly language:
# before the prologue, where no C can stand. Reads the same file twice:
#
#   awk -f entry_probes.awk image.s image.s
#
# RTMARK_BEGIN_AT_ENTRY and RTMARK_END_AT_ENTRY leave lines of the form
#
#   rtmark_entry 2 irq0_handler "isr.entry"
#
# in comments; the probe comes after the function's label.

NR == FNR {
    at = index($0, "rtmark_entry ")
    if (at) {
        split(substr($0, at), word, " ")
        probes[word[3]] = probes[word[3]] "\trtmark_probe_here " word[2] ", " word[4] "\n"
    }
    next
}

{ print }

/^[A-Za-z_][A-Za-z_0-9]*:/ {
    name = substr($1, 1, length($1) - 1)
    if (name in probes) {
        printf "%s", probes[name]
        delete probes[name]
    }
}

END {
    for (name in probes) {
        print FILENAME ": RTMARK_..._AT_ENTRY names " name ", which is no function here" > "/dev/stderr"
        failed = 1
    }
    exit failed
}
