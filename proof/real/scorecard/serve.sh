#!/bin/sh
# Starts a server whose model says what run.ts tells it to: serve.sh vllm|llama-server FOLDER [PORT [ARGUMENTS OF THE SERVER]]
# FOLDER holds the script and the prompts; run.ts needs the same one.
set -eu
cd "$(dirname "$0")"
mkdir -p "$2"
SCORECARD_STATE=$(cd "$2" && pwd)
export SCORECARD_STATE
kind=$1
port=${3:-}
shift $(($# < 3 ? $# : 3))
case $kind in
  vllm)
    # As its documentation of gpt-oss says, with tools on. The processor wants to see each token before the next.
    export PYTHONPATH="$PWD"
    exec ../start-vllm.sh "${port:-18000}" --logits-processors scripted_tokens:ScriptedTokens --no-async-scheduling \
      --enable-auto-tool-choice --tool-call-parser openai --reasoning-parser openai_gptoss "$@" ;;
  llama-server)
    home=${LLAMA_HOME:-$PWD/../.llama-cpp}
    cc -O1 -shared -fPIC -I "$home/source/include" -I "$home/source/ggml/include" scripted.c -o "$home/scripted.so" -ldl
    export LLAMA_PRELOAD="$home/scripted.so"
    # The library sees the tokens that the server computes: none may come back from a cache outside the slot.
    exec ../start-llama-server.sh "${port:-18080}" --parallel 1 --cache-ram 0 "$@" ;;
esac
