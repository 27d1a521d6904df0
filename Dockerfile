# The gateway alone; docs/deploy.md says how to run it. The engine `llama`, which runs a model in the gateway's own
# process, is left out: its package is larger than all the rest.

# Both stages make the same files for every architecture, so that a foreign one needs no emulation.
FROM --platform=$BUILDPLATFORM node:24-trixie-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY scripts/bundle.ts scripts/bundle-pages.ts scripts/command-bundle.ts scripts/static-assets.ts scripts/
COPY src src
COPY web web
RUN npm run build

FROM --platform=$BUILDPLATFORM node:24-trixie-slim AS modules
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund
# An optional package, for the store in PostgreSQL.
RUN npm install --prefix /optional --ignore-scripts --no-audit --no-fund pg@8.23.1

FROM node:24-trixie-slim
# What a registry shows; `.github/workflows/image.yml` adds the version and where it comes from.
LABEL org.opencontainers.image.title="harmony-gateway" \
  org.opencontainers.image.description="Serves gpt-oss through the Chat Completions, Responses and Messages APIs." \
  org.opencontainers.image.licenses="MIT"
ENV NODE_ENV=production
WORKDIR /app
COPY LICENSE NOTICE package.json ./
COPY --from=modules /app/node_modules node_modules
COPY --from=modules /optional/node_modules node_modules
COPY --from=build /app/dist dist
# For the state and the audit of a container, on a volume.
RUN install --directory --owner=node --group=node /var/lib/harmony-gateway
USER node
# This address requires HARMONY_GATEWAY_KEYS, or HARMONY_GATEWAY_OPEN=true.
ENV HARMONY_GATEWAY_HOST=0.0.0.0
EXPOSE 8787
HEALTHCHECK --interval=15s --timeout=3s --start-period=10s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.HARMONY_GATEWAY_METRICS_PORT ?? process.env.HARMONY_GATEWAY_PORT ?? 8787) + '/health').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Answers in progress may end: give the container more time than shutdownGraceMs (30 s) before it is killed.
STOPSIGNAL SIGTERM
# The flag limits the young generation, which would grow to many times that (docs/deploy.md).
ENTRYPOINT ["node", "--max-semi-space-size=8", "dist/node.js"]
