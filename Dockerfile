# The service alone: it expects DATABASE_URL, so the embedded PostgreSQL is left out. See docker-compose.yml.
FROM node:24-bookworm-slim AS dependencies
WORKDIR /budgetd
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --omit=optional

FROM node:24-bookworm-slim
WORKDIR /budgetd
ENV NODE_ENV=production \
    BUDGETD_HOST=0.0.0.0
COPY --from=dependencies /budgetd/node_modules node_modules
COPY package.json LICENSE ./
COPY sql sql
COPY src src
USER node
EXPOSE 50051 8080
# Ready means: this replica is the writer and its database answers. A standby is not ready, and not ill either.
HEALTHCHECK --interval=5s --timeout=3s --start-period=20s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8080/readyz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "src/app/main.ts"]
