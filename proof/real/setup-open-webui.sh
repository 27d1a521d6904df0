#!/bin/sh
# Installs Open WebUI, 8 GB, and a driver for browsers into `proof/real/.open-webui` (or $OPEN_WEBUI_HOME), and Debian's Chromium
# where there is none: node proof/real/open-webui.ts runs them.
set -eu
cd "$(dirname "$0")"
home=${OPEN_WEBUI_HOME:-$PWD/.open-webui}
mkdir -p "$home"
[ -d "$home/env" ] || python3 -m venv "$home/env"
"$home/env/bin/pip" install --quiet uv
"$home/env/bin/uv" pip install --quiet --python "$home/env/bin/python" open-webui==0.12.4
npm install --prefix "$home" --no-audit --no-fund playwright-core@1.64.1
command -v chromium >/dev/null || apt-get install -y --no-install-recommends chromium
