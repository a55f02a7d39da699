import { type Authorizer, CHALLENGE, challengeStatement } from '../../core/auth/principal.ts';
import type { Clock } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import type { MetricRegistry } from '../metrics.ts';
import type { HealthSource } from '../ports.ts';
import { json, problemHeaders } from '../server/answer.ts';
import type { QueryField } from '../server/query.ts';
import { defineRoute, type Route } from '../server/route.ts';
import type { CertificateFacts, CertificateManager } from '../tls/certificate-manager.ts';
import { requirePermission } from '../visible-home.ts';

interface SystemCollaborators {
  readonly health: HealthSource;
  readonly metrics: MetricRegistry;
  readonly clock: Clock;
  readonly authorizer: Authorizer;
  readonly signChallenge: (statement: Uint8Array) => Uint8Array;
  port(): number;
}

const HEALTH = { $ref: '#/components/schemas/Health' };
const CHALLENGE_FIELD: QueryField<string> = {
  description: '32 random bytes in base64url',
  schema: { type: 'string', pattern: CHALLENGE.source },
  parse: (text) => (CHALLENGE.test(text) ? text : undefined),
};

/** Returns the routes for health and metrics. The health route also proves the hub's identity by signing a challenge. */
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
      503: { description: 'starting or stopping', schema: { allOf: [{ $ref: '#/components/schemas/Failure' }, HEALTH] } },
    },
    handle(_request, { challenge }) {
      const { status, nodeId, version, startedAtMs, problems } = health.health();
      const uptimeMs = Math.max(0, clock.now() - startedAtMs);
      const isUp = status === 'ok' || status === 'degraded';
      const signature = challenge === undefined ? undefined : signChallenge(challengeStatement(port(), challenge));
      const proof = signature && Buffer.from(signature).toString('base64url');
      const facts = { status, node_id: nodeId, version, uptime_ms: uptimeMs, problems, proof };
      if (isUp) return json(facts);
      const error = new AtmoError('SHUTTING_DOWN', `The hub is ${status}; ask again in some seconds`);
      const answer = json({ ...facts, error: error.toBody() }, 503);
      return { ...answer, headers: { ...answer.headers, ...problemHeaders(error, 503) } };
    },
  });
}

interface TlsCollaborators {
  /** Absent if the hub only serves plain HTTP on a loopback address. */
  readonly certificates: Pick<CertificateManager, 'facts'> | undefined;
  readonly authorizer: Authorizer;
  /** Returns the response of `GET /api/v1/tls` for callers with admin:hub. */
  view(): JsonObject;
}

/** Returns the routes for TLS: the certificate that clients should trust, and its fingerprint, which people compare. */
export function tlsRoutes({ certificates, authorizer, view }: TlsCollaborators): readonly Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/ca.crt',
      summary: "The certificate of the hub's own authority, for clients to trust once its fingerprint was compared; needs no token",
      access: 'public',
      answers: { 200: { description: 'certificate in PEM', media: 'application/x-x509-ca-cert' } },
      handle() {
        const authority = certificates?.facts().authority;
        if (authority) return { status: 200, headers: CERTIFICATE_HEADERS, body: authority.pem };
        throw new AtmoError(
          'NOT_FOUND',
          certificates
            ? 'The owner brought a certificate: whoever issued it is to be trusted'
            : 'The hub speaks plain HTTP to its own machine alone: there is no authority',
        );
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/tls',
      summary: 'How other machines reach the hub over TLS, and the fingerprint that they compare',
      answers: {
        200: {
          description:
            '`enabled`, `url`, and with TLS `source` (`own_authority`, `files`, `acme`, or `proxy`, of which the hub knows no more), `fingerprint_sha256`, `names`, `issuer`, when the certificates end, and, with admin:hub, the `problem` of a certificate that could not be renewed',
        },
      },
      handle({ principal }) {
        // The problem quotes the owner's command for DNS records.
        const { problem, ...rest } = view();
        const isShown = problem !== undefined && authorizer.authorize(principal, ['admin:hub']).allowed;
        return json(isShown ? { ...rest, problem } : rest);
      },
    }),
  ];
}

const CERTIFICATE_HEADERS = {
  'content-type': 'application/x-x509-ca-cert',
  'content-disposition': 'attachment; filename="atmosphere-edge-ca.crt"',
};

interface TlsState {
  readonly certificates: Pick<CertificateManager, 'facts'> | undefined;
  readonly url: string;
  /** Whether clients reach the hub through a reverse proxy, which has the certificate. */
  readonly isProxied: boolean;
}

/** Returns what people learn about the hub's TLS. */
export function tlsView({ certificates, url, isProxied }: TlsState): JsonObject {
  if (isProxied) return { enabled: true, url, source: 'proxy' };
  return certificates ? certificateView(certificates.facts(), url) : { enabled: false, url };
}

function certificateView({ source, fingerprint, names, issuer, problem, ...ends }: CertificateFacts, url: string) {
  const { certificateEndsAtMs, authority } = ends;
  return {
    enabled: true,
    url,
    source: source.replace('-', '_'),
    fingerprint_sha256: fingerprint,
    names,
    issuer,
    certificate_ends_at: new Date(certificateEndsAtMs).toISOString(),
    ...(authority && { authority_ends_at: new Date(authority.endsAtMs).toISOString() }),
    ...(problem !== undefined && { problem }),
  };
}
