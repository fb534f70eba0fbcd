#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Links, and keeps beside the result what it was linked of, so that it can be linked again:
# in FILE.link the arguments (one a line), the folder, the linker and the objects, of which a compiler
# may remove its own. RTMARK_LD names the linker; without, it is Rust's.

set -e
out=
previous=
for word; do
    if [ "$previous" = -o ]; then out=$word; fi
    previous=$word
done
linker=$(command -v "${RTMARK_LD:-rust-lld}")
kept=$out.link
rm -rf "$kept"
mkdir -p "$kept"
number=0
for word; do
    case $word in
    *.o)
        number=$((number + 1))
        mkdir "$kept/$number"
        cp "$word" "$kept/$number/"
        word=$kept/$number/${word##*/}
        ;;
    esac
    printf '%s\n' "$word"
done >"$kept/arguments"
pwd >"$kept/folder"
printf '%s\n' "$linker" >"$kept/linker"
printf '%s\n' "$COLLECT_GCC" >"$kept/compiler"
printf '%s\n' "$COLLECT_GCC_OPTIONS" >"$kept/options"
exec "$linker" "$@"
