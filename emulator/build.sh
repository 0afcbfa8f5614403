#!/bin/sh
# Builds the stand-in driver with the kernels inside: build.sh OUTPUT [--sanitize]
# A sanitized one needs libasan loaded first: LD_PRELOAD="$(c++ -print-file-name=libasan.so)".
set -eu
here=$(cd "$(dirname "$0")" && pwd)
output=$1
flags="-O2"
if [ "${2:-}" = --sanitize ]; then
    flags="-O2 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined"
fi
# The name by which the driver is looked for: a process that has loaded this finds it instead of a real one.
# Products and sums are rounded one by one, as the tests' references do, and not as the machine happens to have it.
exec ${CXX:-c++} -std=c++20 $flags -g1 -ffp-contract=off -shared -fPIC -pthread -fvisibility=hidden \
    -Wall -Wextra -Wno-unknown-pragmas -Wl,-soname,libcuda.so \
    -I "$here/runtime" -I "$here/../kernels" "$here"/runtime/*.cpp "$here"/driver/*.cpp -o "$output"
