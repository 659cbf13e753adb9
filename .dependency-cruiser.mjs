// The rooms of src and the one way their arrows go. A rule lists what a room may import; everything else is refused.
// TypeScript 7 has no compiler API, so the files are read with swc, which also sees `import type`. It does not see
// `import("…")` used as a type: oxlint's consistent-type-imports forbids that form.

/** A room may import itself and, out of src, only what the given patterns match. Packages are judged by other rules. */
const room = (name, comment, allowed) => ({
  name: `room-${name}`,
  comment,
  severity: 'error',
  from: { path: `^src/${name}/` },
  to: { path: '^src/', pathNot: [`^src/${name}/`, ...allowed] },
});

/** A pure room imports no package and no Node module at all. */
const pure = (name) => ({
  name: `pure-${name}`,
  comment: 'The pure rooms import nothing from outside src: no package, no Node module.',
  severity: 'error',
  from: { path: `^src/${name}/` },
  to: { pathNot: '^src/' },
});

export default {
  forbidden: [
    room('kernel', 'The kernel imports nothing but itself.', []),
    room('pricing', "Pricing imports the kernel's money and nothing else of it.", ['^src/kernel/money\\.ts$']),
    room('store', 'The store imports the kernel.', ['^src/kernel/']),
    room('lane', "The lane imports kernel, pricing and the store's port, never the store behind it.", [
      '^src/kernel/',
      '^src/pricing/',
      '^src/store/(price-)?port\\.ts$',
    ]),
    room('api', "The api imports gen, the kernel's types, pricing, the lane and the store's reads.", [
      '^src/gen/',
      '^src/kernel/',
      '^src/pricing/',
      '^src/lane/',
      '^src/store/read[a-z-]*(\\.ts$|/)',
    ]),
    room('telemetry', 'Telemetry imports no other room; app joins them.', []),
    room('gen', 'Generated code imports only itself.', []),
    pure('kernel'),
    pure('pricing'),
    {
      name: 'api-takes-types-of-the-kernel',
      comment:
        "The api takes the kernel's types, and how names, money and windows are written. It never decides by itself.",
      severity: 'error',
      from: { path: '^src/api/' },
      to: {
        path: '^src/kernel/',
        pathNot: '^src/kernel/(names|money|window)\\.ts$',
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'nobody-imports-app',
      comment: 'app joins the rooms together; an arrow back into it would close a ring.',
      severity: 'error',
      from: { path: '^(src|bench|scripts|clients|console)/', pathNot: '^(src/app|bench)/' },
      to: { path: '^src/app/' },
    },
    {
      name: 'gen-at-the-edge',
      comment: 'Only api and the command line know the generated messages.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(gen|api|app/cli)/' },
      to: { path: '^src/gen/' },
    },
    {
      name: 'grpc-at-the-edge',
      comment: 'Only api, app and generated code know proto or gRPC.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(gen|api|app)/' },
      to: { path: 'node_modules/(@grpc|@connectrpc|@bufbuild|grpc-health-check)/' },
    },
    {
      name: 'sql-in-the-store',
      comment: 'All SQL lives in the store; app may open and close the connection.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(store|app)/' },
      to: { path: 'node_modules/postgres/' },
    },
    {
      name: 'catalogue-in-app',
      comment: 'The catalogue of prices is data that app hands down; nothing prices by its code.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/app/price-catalogue\\.ts$' },
      to: { path: 'node_modules/@pydantic/genai-prices/' },
    },
    {
      name: 'src-stands-alone',
      comment: 'The service needs no test, benchmark, script or client to run.',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(test|bench|scripts|clients|console)/' },
    },
    {
      name: 'clients-stand-alone',
      comment: 'A client is published without the service.',
      severity: 'error',
      from: { path: '^clients/' },
      to: { path: '^(src|test|bench|scripts|console)/' },
    },
    {
      name: 'no-dev-packages-in-src',
      comment: 'The service runs with dependencies only, as in the container image.',
      severity: 'error',
      from: { path: '^src/' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'] },
    },
    {
      name: 'no-cycles',
      comment: 'Files that need each other are one file, or a third one is missing.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'resolvable',
      comment: 'Every import leads somewhere.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    parser: 'swc',
    doNotFollow: { path: ['node_modules', '/gen/'] },
    exclude: { path: ['(^|/)dist/'] },
    enhancedResolveOptions: {
      conditionNames: ['import', 'node', 'default', 'types'],
      exportsFields: ['exports'],
      extensions: ['.ts', '.js', '.mjs', '.json'],
    },
  },
};
