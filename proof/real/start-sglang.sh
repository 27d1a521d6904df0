#!/bin/sh
# Serves the random model with SGLang on port 18050 (or $1); further arguments go to its server. Loading takes minutes.
set -eu
cd "$(dirname "$0")"
home=${SGLANG_HOME:-$PWD/.sglang}
port=${1:-18050}
[ $# = 0 ] || shift
exec "$home/env/bin/python" -m sglang.launch_server --model-path "$home/random-llama" \
  --served-model-name openai/gpt-oss-20b --host 127.0.0.1 --port "$port" --device cpu --attention-backend torch_native \
  --disable-overlap-schedule --mem-fraction-static 0.1 --context-length 8192 --max-total-tokens 16384 \
  --skip-server-warmup --incremental-streaming-output "$@"
