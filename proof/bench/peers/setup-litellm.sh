#!/bin/sh
# Installs the LiteLLM proxy into `proof/bench/peers/.litellm`, where the benchmark finds it.
set -eu
cd "$(dirname "$0")"
python3 -m venv .litellm
.litellm/bin/pip install --quiet 'litellm[proxy]==1.106.2'
