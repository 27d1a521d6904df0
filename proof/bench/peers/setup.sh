#!/bin/sh
# Installs what the benchmark measures beside, the LiteLLM proxy into `proof/bench/peers/.litellm`.
set -eu
cd "$(dirname "$0")"
npm ci
python3 -m venv .litellm
.litellm/bin/pip install --quiet 'litellm[proxy]==1.106.2'
