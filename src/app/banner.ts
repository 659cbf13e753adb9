// What `npm start` says to a person once the service is ready. Its own file because every line of it is there to be pasted:
// it has to name the ports that were taken, and the token where one is needed.

/** What the lines depend on. */
export interface BannerFacts {
  readonly version: string;
  readonly host: string;
  readonly grpcPort: number;
  readonly connectPort: number;
  readonly databaseKind: 'embedded' | 'external';
  readonly needsToken: boolean;
}

/** Where budgetctl and the demo look by themselves. */
const DEFAULT_SERVER = '127.0.0.1:50051';

/** An address to listen on that is none to connect to. */
const WILDCARDS: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

/** The text, with an empty line before it and a line end after it. */
export function bannerText(facts: BannerFacts): string {
  const grpc = addressOf(facts.host, facts.grpcPort);
  const http = `http://${addressOf(facts.host, facts.connectPort)}`;
  const environment =
    (grpc === DEFAULT_SERVER ? '' : `BUDGETD_SERVER=${grpc} `) + (facts.needsToken ? 'BUDGETD_TOKEN=… ' : '');
  const header = facts.needsToken ? ` -H 'authorization: Bearer …'` : '';
  // A name of its own: the README's first steps make acme.
  return `
budgetd ${facts.version} is ready: gRPC on ${grpc}, JSON on ${http} (${facts.databaseKind} PostgreSQL)

Try it${facts.needsToken ? ' (with a token in place of …)' : ''}:
  ${environment}npm run demo
  ${environment}npm run budgetctl -- create demo --limit "10 USD"
  ${environment}npm run budgetctl -- reserve demo "0.25 USD"
  curl -s ${http}/budgetd.v1.BudgetService/GetBudget${header} -H 'content-type: application/json' -d '{"budget":"demo"}'; echo
  grpcurl -plaintext${header} ${grpc} list

Ctrl-C stops it in order.
`;
}

/** `host:port` as a client on this machine writes it. */
function addressOf(host: string, port: number): string {
  const reachable = WILDCARDS[host] ?? host;
  return reachable.includes(':') ? `[${reachable}]:${port}` : `${reachable}:${port}`;
}
