import type { Authorizer } from '../core/authorizer.ts';
import type { Clock } from '../core/clock.ts';
import type { JsonObject } from '../core/json.ts';
import type { Principal } from '../core/principal.ts';
import { json } from './answer.ts';
import { requirePermission } from './call-privacy.ts';
import type { MetricRegistry } from './metrics.ts';
import type { HealthSource } from './ports.ts';
import { defineRoute, type Route } from './route.ts';

interface SystemCollaborators {
  readonly health: HealthSource;
  readonly metrics: MetricRegistry;
  readonly clock: Clock;
  readonly authorizer: Authorizer;
  /** Made when somebody asks: it lists every tool. */
  openApi(principal: Principal): JsonObject;
}

/** Health, metrics and the API's own description. */
export function systemRoutes({ health, metrics, clock, authorizer, openApi }: SystemCollaborators): readonly Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/healthz',
      summary: 'Whether the hub works; needs no token',
      access: 'public',
      answers: { 200: 'ok or degraded', 503: 'starting or stopping' },
      handle() {
        const { status, nodeId, version, startedAtMs, problems } = health.health();
        const uptimeMs = Math.max(0, clock.now() - startedAtMs);
        const isUp = status === 'ok' || status === 'degraded';
        return json({ status, node_id: nodeId, version, uptime_ms: uptimeMs, problems }, isUp ? 200 : 503);
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/metrics',
      summary: 'Metrics in the text form of Prometheus; needs admin:hub',
      answers: { 200: 'text/plain; version=0.0.4' },
      handle({ principal }) {
        requirePermission(principal, 'admin:hub', authorizer);
        return { status: 200, headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }, body: metrics.text() };
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/openapi.json',
      summary: 'This API in OpenAPI 3.1, with the parameters of every tool',
      answers: { 200: 'OpenAPI document' },
      handle: (request) => json(openApi(request.principal)),
    }),
  ];
}
