import { type ApprovalStatement, passkeyMessage } from '../../codec/approval-payload.ts';
import type { JsonObject } from '../../core/json.ts';
import { base64UrlOf, bytesOfBase64Url } from './signing-key.ts';

/** COSE algorithms that the hub verifies: ES256 and Ed25519 (RFC 9053 §2). */
const ALGORITHMS = [-7, -8];

/** A passkey that this browser may ask for. */
export interface BrowserPasskey {
  /** Id of the credential, base64url. */
  readonly credentialId: string;
  /** Id of the key on the hub, which people compare. */
  readonly keyId: string;
}

/** The parts of a page in a browser that passkeys need (WebAuthn §5). Tests replace them. */
export interface PasskeyPage {
  readonly isSecureContext: boolean;
  readonly location: { readonly hostname: string };
  readonly navigator: { readonly credentials?: { create(options: object): Promise<unknown>; get(options: object): Promise<unknown> } };
}

// Unit tests compile this module without the types of a browser.
const browserPage = globalThis as unknown as PasskeyPage;

/**
 * Returns whether this page can use passkeys: they need a name and a certificate that the browser trusts. Where the certificate is not
 * trusted, the browser refuses `makePasskey`.
 */
export function mayHavePasskeys({ location, isSecureContext, navigator } = browserPage): boolean {
  const isAddress = /^[\d.]+$/.test(location.hostname) || location.hostname.startsWith('[');
  return isSecureContext && !isAddress && navigator.credentials !== undefined && 'PublicKeyCredential' in globalThis;
}

/** Makes a passkey for a person, and returns what the hub reads of it. Rejects with a DOMException if the person or the browser refuses. */
export async function makePasskey(
  person: { readonly name: string; readonly title: string },
  challenge: string,
  { location, navigator } = browserPage,
): Promise<JsonObject> {
  const credential = await navigator.credentials?.create({
    publicKey: {
      challenge: new TextEncoder().encode(challenge),
      rp: { name: 'Atmosphere', id: location.hostname },
      // The hub does not use the handle; it must only differ between persons, so that a second passkey replaces no other person's.
      user: { id: new TextEncoder().encode(person.name), name: person.name, displayName: person.title },
      pubKeyCredParams: ALGORITHMS.map((alg) => ({ type: 'public-key', alg })),
      authenticatorSelection: { residentKey: 'preferred', userVerification: 'required' },
      attestation: 'none',
    },
  });
  const { rawId, response } = credential as NewCredential;
  return {
    challenge,
    credential_id: textOf(rawId),
    client_data: textOf(response.clientDataJSON),
    authenticator_data: textOf(response.getAuthenticatorData()),
  };
}

/** What a browser returns about a new passkey (WebAuthn §5.2.1). */
interface NewCredential {
  readonly rawId: ArrayBuffer;
  readonly response: { readonly clientDataJSON: ArrayBuffer; getAuthenticatorData(): ArrayBuffer };
}

/** What a browser returns about a signature (WebAuthn §5.2.2). */
interface SignedCredential {
  readonly response: Readonly<Record<'authenticatorData' | 'clientDataJSON' | 'signature', ArrayBuffer>>;
}

/** Signs a decision with a passkey (docs/approvals.md). Rejects with a DOMException if the person or the browser refuses. */
export async function signWithPasskey(
  statement: ApprovalStatement,
  { credentialId }: BrowserPasskey,
  { location, navigator } = browserPage,
): Promise<string> {
  const credential = await navigator.credentials?.get({
    publicKey: {
      challenge: await crypto.subtle.digest('SHA-256', passkeyMessage(statement)),
      rpId: location.hostname,
      allowCredentials: [{ type: 'public-key', id: bytesOfBase64Url(credentialId) }],
      userVerification: 'required',
    },
  });
  const { authenticatorData, clientDataJSON, signature } = (credential as SignedCredential).response;
  const parts = { authenticatorData: textOf(authenticatorData), clientDataJSON: textOf(clientDataJSON), signature: textOf(signature) };
  return base64UrlOf(new TextEncoder().encode(JSON.stringify(parts)));
}

function textOf(bytes: ArrayBuffer): string {
  return base64UrlOf(new Uint8Array(bytes));
}
