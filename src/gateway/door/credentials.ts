import type { Credentials } from '../../core/access/principal.ts';
import { AtmoError } from '../../core/errors.ts';

/** Base64url of at most 2 KiB; a chain of tokens and a proof fit well. */
const BEARER = /^Bearer +([\x21-\x7e]{1,4096})$/i;
const PROOF = /^[A-Za-z0-9_-]{1,2048}$/;

/** Header with the proof that the caller holds the key to which its token is bound: COSE_Sign1 in base64url, at most 2 KiB. */
const PROOF_HEADER = 'atmo-proof';

/**
 * What a request brought to show who sends it. UNAUTHENTICATED for another scheme than Bearer (RFC 6750 §2.1; a token in
 * the query or body never counts), TOKEN_INVALID for a proof that cannot be one.
 */
export function credentialsOf({ method, url, headers }: Request): Credentials {
  const operation = `${method} ${targetOf(url)}`;
  const header = headers.get('authorization');
  if (header === null) return { operation };
  const bearer = BEARER.exec(header)?.[1];
  if (bearer === undefined) throw new AtmoError('UNAUTHENTICATED', 'The Authorization header has to be "Bearer TOKEN"');
  const proof = headers.get(PROOF_HEADER);
  if (proof === null) return { bearer, operation };
  if (PROOF.test(proof)) return { bearer, proof, operation };
  throw new AtmoError('TOKEN_INVALID', `The ${PROOF_HEADER} header has to be a COSE_Sign1 in base64url of at most 2048 characters`);
}

/** Path and query as they were sent, percent signs included: a proof is about these very characters. */
function targetOf(url: string): string {
  return url.slice(url.indexOf('/', url.indexOf('//') + 2));
}
