#!/bin/sh
# Starts a server whose model says what run.ts tells it to: serve.sh vllm|llama-server FOLDER [PORT]
# FOLDER holds the script and the prompts; run.ts needs the same one.
set -eu
cd "$(dirname "$0")"
mkdir -p "$2"
SCORECARD_STATE=$(cd "$2" && pwd)
export SCORECARD_STATE
case $1 in
  vllm)
    # As its documentation of gpt-oss says, with tools on. The processor wants to see each token before the next.
    export PYTHONPATH="$PWD"
    exec ../start-vllm.sh "${3:-18000}" --logits-processors scripted_tokens:ScriptedTokens --no-async-scheduling \
      --enable-auto-tool-choice --tool-call-parser openai --reasoning-parser openai_gptoss ;;
  llama-server)
    home=${LLAMA_HOME:-$PWD/../.llama-cpp}
    cc -O1 -shared -fPIC -I "$home/source/include" -I "$home/source/ggml/include" scripted.c -o "$home/scripted.so" -ldl
    export LLAMA_PRELOAD="$home/scripted.so"
    exec ../start-llama-server.sh "${3:-18080}" --parallel 1 ;;
esac
