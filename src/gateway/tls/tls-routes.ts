import { AtmoError } from '../../core/errors.ts';
import { json } from '../door/answer.ts';
import { defineRoute, type Route } from '../door/route.ts';
import type { TlsFacts, TlsKeeper } from './tls-keeper.ts';

interface TlsCollaborators {
  /** Absent where the door speaks plain HTTP on a loopback address. */
  readonly keeper: Pick<TlsKeeper, 'facts'> | undefined;
  /** Where clients reach the hub. */
  url(): string;
}

/** What clients have to trust, and how people compare it. */
export function tlsRoutes({ keeper, url }: TlsCollaborators): readonly Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/ca.crt',
      summary: "The certificate of the hub's own authority, for clients to trust once its fingerprint was compared; needs no token",
      access: 'public',
      answers: { 200: { description: 'certificate in PEM', media: 'application/x-x509-ca-cert' } },
      handle() {
        const authority = keeper?.facts().authority;
        if (authority) return { status: 200, headers: CERTIFICATE_HEADERS, body: authority.pem };
        throw new AtmoError(
          'NOT_FOUND',
          keeper
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
        200: { description: '`enabled`, `url`, and with TLS `source`, `fingerprint_sha256`, `names` and when the certificates end' },
      },
      handle: () => json(keeper ? viewOf(keeper.facts(), url()) : { enabled: false, url: url() }),
    }),
  ];
}

const CERTIFICATE_HEADERS = {
  'content-type': 'application/x-x509-ca-cert',
  'content-disposition': 'attachment; filename="atmosphere-edge-ca.crt"',
};

function viewOf({ source, fingerprint, names, certificateEndsAtMs, authority }: TlsFacts, url: string) {
  return {
    enabled: true,
    url,
    source: source.replace('-', '_'),
    fingerprint_sha256: fingerprint,
    names,
    certificate_ends_at: new Date(certificateEndsAtMs).toISOString(),
    ...(authority && { authority_ends_at: new Date(authority.endsAtMs).toISOString() }),
  };
}
