#!/bin/sh
# Installs the Python clients into environments of their own: node proof/real/python-clients.ts runs them.
set -eu
cd "$(dirname "$0")"
for name in main litellm llama-index aider inspect gptme; do
  python3 -m venv ".python/$name"
  ".python/$name/bin/pip" install --quiet --requirement "python/requirements-$name.txt"
done
