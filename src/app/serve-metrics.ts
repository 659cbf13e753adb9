// GET /metrics on the HTTP server. The figures are over all budgets and name none, so that whoever may look at everything
// may read them: where tokens are configured an admin or an auditor, not limited to a subtree.

import type { ApiLog } from '../api/api-log.ts';
import { isRefusal } from '../api/api-refusal.ts';
import type { Actor } from '../api/auth/actor.ts';
import type { Authenticate } from '../api/auth/authenticator.ts';
import type { HttpRequest, HttpResponse } from '../api/connect/http-call.ts';
import type { ServeOther } from '../api/connect/request-listener.ts';
import { PROMETHEUS_CONTENT_TYPE } from '../telemetry/prometheus-reader.ts';
import type { Telemetry } from '../telemetry/start-telemetry.ts';

/** What it needs. */
export interface MetricsDeps {
  readonly telemetry: Telemetry;
  readonly authenticate: Authenticate;
  readonly log: ApiLog;
}

const PATH = '/metrics';

/** Serves metrics; says of everything else that it is not here. */
export function serveMetrics({ telemetry, authenticate, log }: MetricsDeps): ServeOther {
  return (request, response, path) => {
    if (path !== PATH) return false;
    const denied = deny(request, authenticate);
    if (denied === undefined) {
      telemetry.prometheusText().then(
        (text) => send(response, 200, PROMETHEUS_CONTENT_TYPE, text),
        (cause: unknown) => {
          log.error({ err: cause }, 'metrics could not be collected');
          send(response, 500, TEXT, 'metrics could not be collected\n');
        },
      );
    } else send(response, denied.code, TEXT, `${denied.why}\n`, denied.headers);
    return true;
  };
}

const TEXT = 'text/plain; charset=utf-8';

interface Denial {
  readonly code: number;
  readonly why: string;
  readonly headers: Readonly<Record<string, string>>;
}

function deny(request: HttpRequest, authenticate: Authenticate): Denial | undefined {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    return { code: 405, why: 'method not allowed', headers: { allow: 'GET, HEAD' } };
  }
  const actor = authenticate(request.headers.authorization);
  if (isRefusal(actor)) return { code: 401, why: actor.message, headers: { 'www-authenticate': 'Bearer' } };
  if (!seesEverything(actor))
    return { code: 403, why: 'metrics are for admins and auditors of all budgets', headers: {} };
  return undefined;
}

function seesEverything({ role, subtree }: Actor): boolean {
  return (role === 'admin' || role === 'auditor') && subtree === undefined;
}

function send(
  response: HttpResponse,
  code: number,
  type: string,
  text: string,
  more: Readonly<Record<string, string>> = {},
): void {
  const headers = { 'content-type': type, 'cache-control': 'no-store', ...more };
  // The two classes have the same method with types that do not unite.
  if ('stream' in response) response.writeHead(code, headers);
  else response.writeHead(code, headers);
  // To a HEAD request, Node itself leaves the body out.
  response.end(text);
}
