#!/bin/sh
# Serves the tiny model with llama-server on port 18080 (or $1); further arguments go to llama-server.
set -eu
cd "$(dirname "$0")"
home=${LLAMA_HOME:-$PWD/.llama-cpp}
port=${1:-18080}
[ $# = 0 ] || shift
model=$(../../node_modules/.bin/node make-gguf.ts)
export LD_PRELOAD="${LLAMA_PRELOAD:-}"
exec "$home/lib/llama-server" --model "$model" --alias openai/gpt-oss-20b \
  --chat-template-file "$home/source/models/templates/openai-gpt-oss-120b.jinja" --jinja \
  --host 127.0.0.1 --port "$port" --ctx-size 16384 --parallel 2 --threads 1 --no-warmup --slots "$@"
