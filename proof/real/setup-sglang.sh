#!/bin/sh
# Makes SGLang's server run on a processor, in `proof/real/.sglang` (or $SGLANG_HOME). Needs proof/real/setup-vllm.sh first, whose
# packages it uses: of SGLang's own requirements most are for GPUs, and not needed here.
#
# SGLang has no attention kernel for gpt-oss on processors without AMX. The model is a Llama of random weights with the
# tokenizer of gpt-oss: its words mean nothing, but ids, limits, constraints and errors are SGLang's own.
set -eu
cd "$(dirname "$0")"
version=0.5.23
home=${SGLANG_HOME:-$PWD/.sglang}
vllm=${VLLM_HOME:-$PWD/.vllm}
mkdir -p "$home"
[ -d "$home/env" ] || python3 -m venv "$home/env"
python="$home/env/bin/python"
"$python" -m pip install --quiet uv
"$python" -m uv pip install --quiet --python "$python" --no-deps "sglang==$version" --requirement sglang/requirements.txt
site=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
"$vllm/env/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])' > "$site/vllm-packages.pth"
"$vllm/env/bin/python" sglang/make_random_llama.py "$vllm/tiny-gpt-oss" "$home/random-llama"
echo "Start it: proof/real/start-sglang.sh"
