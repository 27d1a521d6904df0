#!/bin/sh
# Serves the tiny checkpoint with vLLM on port 18000 (or $1); further arguments go to `vllm serve`. Loading takes a
# minute or two.
set -eu
cd "$(dirname "$0")"
home=${VLLM_HOME:-$PWD/.vllm}
port=${1:-18000}
[ $# = 0 ] || shift
# More threads than one wait for each other, on a busy machine for most of the time.
export OMP_NUM_THREADS=1
export VLLM_CPU_KVCACHE_SPACE=1 VLLM_CPU_OMP_THREADS_BIND=nobind VLLM_NO_USAGE_STATS=1 HF_HUB_OFFLINE=1
# Its own chat endpoint encodes with openai-harmony, which would download the vocabulary.
export TIKTOKEN_ENCODINGS_BASE="$home/vocabulary"
[ -d "$TIKTOKEN_ENCODINGS_BASE" ] || ../../node_modules/.bin/node make-vocabulary.ts "$TIKTOKEN_ENCODINGS_BASE"
# Float32: with bfloat16 some of its probabilities round to the same number.
exec "$home/env/bin/vllm" serve "$home/tiny-gpt-oss" --served-model-name openai/gpt-oss-20b \
  --host 127.0.0.1 --port "$port" --max-model-len 8192 --max-num-seqs 8 --enforce-eager \
  --enable-prompt-tokens-details --dtype float32 "$@"
