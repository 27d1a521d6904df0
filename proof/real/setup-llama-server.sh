#!/bin/sh
# Builds llama-server into `proof/real/.llama-cpp` (or $LLAMA_HOME). Sources and libraries of llama.cpp come from the npm
# package node-llama-cpp, which `npm ci` has installed; cmake and a C++ compiler are needed besides.
set -eu
cd "$(dirname "$0")"
home=${LLAMA_HOME:-$PWD/.llama-cpp}
modules=$(cd ../../node_modules && pwd -P)
mkdir -p "$home"
[ -d "$home/source" ] || git -c advice.detachedHead=false clone --quiet "$modules/node-llama-cpp/llama/gitRelease.bundle" "$home/source"
# Copied, so that a later `npm ci` does not take them away from under a running server.
mkdir -p "$home/lib"
cp "$modules/@node-llama-cpp/linux-x64/bins/linux-x64"/*.so "$home/lib"
cmake -S llama-server -B "$home/build" -DLLAMA_SOURCE="$home/source" \
  -DLLAMA_LIBRARIES="$home/lib" > "$home/cmake.log"
cmake --build "$home/build" --parallel "${JOBS:-2}" > "$home/build.log"
# It looks for the processor's library in its own folder.
cp "$home/build/llama-server" "$home/lib"
echo "Start it: proof/real/start-llama-server.sh"
