#!/bin/sh
# Builds the stand-in driver with the kernels inside: build.sh OUTPUT [OPTION]
#   --sanitize     with an address sanitizer. Needs libasan loaded first: LD_PRELOAD="$(c++ -print-file-name=libasan.so)".
#   --race         with ThreadSanitizer, to which every CUDA thread is a thread: accesses of kernels that no barrier, no
#                  __syncwarp and no release and acquire orders are reported. Needs libtsan loaded first.
#   --contraction  with products and sums contracted to one rounding wherever the compiler can, as a GPU's compiler does
#   --exp2-error   with the fast exponential off by up to 2 units of the last place, as a GPU's is
# KERNELS, if set, names another directory with the kernels; CXXFLAGS are added.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
output=$1
kernels=${KERNELS:-$here/../kernels}
flags="-O2" of_kernels=""
# Otherwise products and sums are rounded one by one, as the tests' references do, and not as the machine happens to have it.
contraction="-ffp-contract=off"
case "${2:-}" in
    "") ;;
    --sanitize) flags="-O2 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined" ;;
    # Instruments the kernels alone.
    --race) flags="-O2 -DEMULATOR_RACE" of_kernels="-fno-omit-frame-pointer -fsanitize=thread" ;;
    --contraction)
        contraction="-ffp-contract=fast"
        # The baseline of x86-64 has no such instruction.
        [ "$(uname -m)" != x86_64 ] || contraction="$contraction -mfma"
        ;;
    --exp2-error) flags="-O2 -DEMULATOR_EXP2_ERROR" ;;
    *) echo "$0: there is no option $2" >&2; exit 1 ;;
esac
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
compile() {
    ${CXX:-c++} -std=c++20 $flags "$@" ${CXXFLAGS:-} -g1 $contraction -fPIC -pthread -fvisibility=hidden \
        -Wall -Wextra -Wno-unknown-pragmas -I "$here/runtime" -I "$kernels" -c
}
for source in "$here"/runtime/*.cpp "$here"/driver/*.cpp; do
    name=$(basename "$(dirname "$source")")_$(basename "$source")
    case "$source" in *kernels.cpp) more=$of_kernels ;; *) more="" ;; esac
    compile $more "$source" -o "$room/$name.o"
done
# The name by which the driver is looked for: a process that has loaded this finds it instead of a real one.
${CXX:-c++} $flags $of_kernels -shared -pthread -Wl,-soname,libcuda.so "$room"/*.o -o "$output"
