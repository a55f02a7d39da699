import type { Authorizer } from '../../core/access/authorizer.ts';
import { CHALLENGE, challengeStatement } from '../../core/mesh/hub-challenge.ts';
import type { Clock } from '../../core/time/clock.ts';
import { requirePermission } from '../calls/call-privacy.ts';
import { json } from '../door/answer.ts';
import type { QueryField } from '../door/query.ts';
import { defineRoute, type Route } from '../door/route.ts';
import type { MetricRegistry } from '../metrics/metrics.ts';
import type { HealthSource } from '../ports.ts';

interface SystemCollaborators {
  readonly health: HealthSource;
  readonly metrics: MetricRegistry;
  readonly clock: Clock;
  readonly authorizer: Authorizer;
  /** Signs with the hub's key. */
  readonly signChallenge: (statement: Uint8Array) => Uint8Array;
  /** The port on which the hub answers. */
  port(): number;
}

const HEALTH = { $ref: '#/components/schemas/Health' };
const CHALLENGE_FIELD: QueryField<string> = {
  description: '32 random bytes in base64url',
  schema: { type: 'string', pattern: CHALLENGE.source },
  parse: (text) => (CHALLENGE.test(text) ? text : undefined),
};

/** Health, metrics, and what proves which hub this is. */
export function systemRoutes(collaborators: SystemCollaborators): readonly Route[] {
  const { metrics, authorizer } = collaborators;
  return [
    healthRoute(collaborators),
    defineRoute({
      method: 'GET',
      path: '/metrics',
      summary: 'Metrics in the text form of Prometheus; needs admin:hub',
      answers: { 200: { description: 'metrics', media: 'text/plain' } },
      handle({ principal }) {
        requirePermission(principal, 'admin:hub', authorizer);
        return { status: 200, headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }, body: metrics.text() };
      },
    }),
  ];
}

function healthRoute({ health, clock, signChallenge, port }: SystemCollaborators): Route {
  return defineRoute({
    method: 'GET',
    path: '/healthz',
    summary:
      'Whether the hub works; needs no token. A challenge is answered with a signature of the hub: who sends a token can know to whom',
    access: 'public',
    query: { challenge: CHALLENGE_FIELD },
    answers: {
      200: { description: 'ok or degraded', schema: HEALTH },
      503: { description: 'starting or stopping', schema: HEALTH },
    },
    handle(_request, { challenge }) {
      const { status, nodeId, version, startedAtMs, problems } = health.health();
      const uptimeMs = Math.max(0, clock.now() - startedAtMs);
      const isUp = status === 'ok' || status === 'degraded';
      const signature = challenge === undefined ? undefined : signChallenge(challengeStatement(port(), challenge));
      const proof = signature && Buffer.from(signature).toString('base64url');
      return json({ status, node_id: nodeId, version, uptime_ms: uptimeMs, problems, proof }, isUp ? 200 : 503);
    },
  });
}
