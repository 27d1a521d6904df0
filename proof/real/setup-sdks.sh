#!/bin/sh
# Builds the programs of clients in Go, Rust, Java and TypeScript: node proof/real/sdk-clients.ts runs them.
set -eu
cd "$(dirname "$0")"
mkdir -p .sdks
(cd go && go build -p 1 -o ../.sdks/go-client .)
CARGO_TARGET_DIR="$PWD/.sdks/rust" cargo build --quiet -j1 --manifest-path rust/Cargo.toml
for name in java langchain4j; do
  mvn --quiet --batch-mode --file "$name" dependency:build-classpath -Dmdep.outputFile="$PWD/.sdks/$name-classpath"
done
npm ci --prefix javascript --ignore-scripts
