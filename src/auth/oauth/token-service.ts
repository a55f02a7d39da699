import {
  CODE_GRANT,
  DEVICE_GRANT,
  type OAuthDeviceCodes,
  type OAuthEndpoints,
  type OAuthForm,
  type OAuthRegistration,
  type OAuthSource,
  type OAuthTokens,
  oauthError,
  REFRESH_GRANT,
} from '../../core/auth/oauth.ts';
import type { TrustedTime } from '../../core/clock.ts';
import type { HubContext } from '../../core/context.ts';
import { type JsonObject, present } from '../../core/json.ts';
import { recordNote } from '../../core/storage/audit-sink.ts';
import type { AuthorizationCodes } from './authorization-codes.ts';
import { formText, protectedResource } from './authorization-request.ts';
import type { DeviceCodes } from './device-codes.ts';
import type { CodeOutcome } from './grant-store.ts';
import type { OAuthGrants } from './grants.ts';
import { isDocumentUrl, type OAuthClients, requireGrantType } from './oauth-client.ts';
import { requestedAccessOf } from './requested-access.ts';

interface TokenServiceCollaborators extends Pick<HubContext, 'audit' | 'logger'> {
  readonly time: Pick<TrustedTime, 'now'>;
  readonly clients: OAuthClients;
  readonly codes: AuthorizationCodes;
  readonly devices: DeviceCodes;
  readonly grants: OAuthGrants;
}

/** Answers clients: registration, tokens, revocation and codes for devices. */
export class TokenService implements OAuthEndpoints {
  readonly #ports: TokenServiceCollaborators;

  constructor(ports: TokenServiceCollaborators) {
    this.#ports = ports;
  }

  async register(metadata: JsonObject, source: string): Promise<OAuthRegistration> {
    const registration = this.#ports.clients.register(metadata, source);
    const { clientId, name, redirectUris } = registration;
    const data = { client: name, client_id: clientId, redirect_uris: redirectUris, source };
    await recordNote(this.#ports, { event: 'oauth.client_registered', atMs: this.#ports.time.now(), data });
    return registration;
  }

  async token(form: OAuthForm, { issuer }: OAuthSource): Promise<OAuthTokens> {
    const grantType = formText(form, 'grant_type');
    const clientId = formText(form, 'client_id');
    const resource = resourceOf(form, issuer);
    if (grantType === REFRESH_GRANT) {
      return this.#ports.grants.renew(formText(form, 'refresh_token'), { clientId, issuer, ...present({ resource }) });
    }
    if (grantType === DEVICE_GRANT) return this.#begin(this.#ports.devices.poll(formText(form, 'device_code'), { clientId, issuer }));
    if (grantType !== CODE_GRANT)
      throw oauthError('unsupported_grant_type', `grant_type has to be ${CODE_GRANT}, ${REFRESH_GRANT} or ${DEVICE_GRANT}`);
    const [code, redirectUri, verifier] = [formText(form, 'code'), formText(form, 'redirect_uri'), formText(form, 'code_verifier')];
    return this.#begin(this.#ports.codes.use({ code, clientId, redirectUri, verifier, issuer, resource }));
  }

  async revoke(form: OAuthForm): Promise<void> {
    await this.#ports.grants.revoke(formText(form, 'token'), formText(form, 'client_id'));
  }

  async authorizeDevice(form: OAuthForm, { issuer, source }: OAuthSource): Promise<OAuthDeviceCodes> {
    const clientId = formText(form, 'client_id');
    // The hub fetches a metadata document only when a person opens the request. Otherwise any client could make the hub send requests.
    if (!isDocumentUrl(clientId)) {
      const client = this.#ports.clients.registered(clientId);
      if (!client) throw oauthError('invalid_client', 'The client is not registered; let it register again');
      requireGrantType(client, DEVICE_GRANT);
    }
    const resource = protectedResource(typeof form.resource === 'string' ? form.resource : undefined, issuer);
    const requested = requestedAccessOf(typeof form.scope === 'string' ? form.scope : undefined);
    return this.#ports.devices.make({ clientId, issuer, resource, requested }, source);
  }

  /** Begins a grant. A code that was used before ends the grant that it began: somebody else may have it (RFC 6749 §4.1.2). */
  async #begin(outcome: CodeOutcome): Promise<OAuthTokens> {
    if (outcome.kind === 'accepted') return this.#ports.grants.begin(outcome.grantId, outcome.draft);
    await this.#ports.grants.end(outcome.grantId, 'code_reused');
    throw oauthError('invalid_grant', 'The code was used before; what it gave has ended');
  }
}

function resourceOf({ resource }: OAuthForm, issuer: string): string | undefined {
  return typeof resource === 'string' ? protectedResource(resource, issuer).address : undefined;
}
