#!/bin/sh
# Serves the tiny checkpoint with vLLM on port 18000 (or $1). Loading takes a minute or two.
set -eu
home=${VLLM_HOME:-$(dirname "$0")/.vllm}
export VLLM_CPU_KVCACHE_SPACE=1 VLLM_CPU_OMP_THREADS_BIND=nobind VLLM_NO_USAGE_STATS=1 HF_HUB_OFFLINE=1
# Float32: with bfloat16 some of its probabilities round to the same number.
exec "$home/env/bin/vllm" serve "$home/tiny-gpt-oss" --served-model-name openai/gpt-oss-20b \
  --host 127.0.0.1 --port "${1:-18000}" --max-model-len 8192 --max-num-seqs 8 --enforce-eager \
  --enable-prompt-tokens-details --dtype float32
