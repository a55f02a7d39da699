import { isDeepStrictEqual } from 'node:util';
import type {
  ConsentAnswer,
  ConsentChoice,
  ConsentPreview,
  ConsentRequest,
  OAuthConsent,
  OAuthGrantView,
  OAuthSource,
  ShownConsent,
} from '../../core/auth/oauth.ts';
import { CODE_GRANT, DEVICE_GRANT, oauthError } from '../../core/auth/oauth.ts';
import { consentSubject, type PeopleAdministration, type Person } from '../../core/auth/people.ts';
import { covers, NO_GROUPS, requireGrant } from '../../core/auth/permission.ts';
import { intersectPermissions } from '../../core/auth/permission-intersection.ts';
import type { Principal } from '../../core/auth/principal.ts';
import { isoTime, type TrustedTime } from '../../core/clock.ts';
import type { HubContext } from '../../core/context.ts';
import { AtmoError, permissionDenied } from '../../core/errors.ts';
import { type JsonObject, present } from '../../core/json.ts';
import { recordNote } from '../../core/storage/audit-sink.ts';
import { grantsOf } from '../people/person-grants.ts';
import type { AuthorizationCodes } from './authorization-codes.ts';
import { AuthorizationQuery, errorRedirect } from './authorization-request.ts';
import type { ClientAgents } from './client-agents.ts';
import { type ConsentBounds, choicesFor, permissionsOf } from './consent.ts';
import type { ConsentRequests, PendingRequest } from './consent-requests.ts';
import type { DeviceCodes } from './device-codes.ts';
import type { GivenWith, GrantDraft, StoredGrant } from './grant-store.ts';
import type { OAuthGrants } from './grants.ts';
import { clientView, deviceView, type OAuthClients, requireGrantType, requireRedirect } from './oauth-client.ts';
import { redirectHost, redirectWith } from './redirect-uri.ts';

const ADMIN_TOKEN = { namespace: 'admin', action: 'token' } as const;

interface ConsentCollaborators extends Pick<HubContext, 'audit' | 'logger'> {
  readonly time: Pick<TrustedTime, 'now'>;
  readonly people: Pick<PeopleAdministration, 'personOf' | 'requireAgreement' | 'signInOf'>;
  readonly clients: OAuthClients;
  readonly requests: ConsentRequests;
  readonly codes: AuthorizationCodes;
  readonly devices: DeviceCodes;
  readonly grants: OAuthGrants;
  readonly agents: ClientAgents;
}

/** Asks persons whether a client may have access, and turns their answers into codes. */
export class ConsentService implements OAuthConsent {
  readonly #ports: ConsentCollaborators;

  constructor(ports: ConsentCollaborators) {
    this.#ports = ports;
  }

  async open(query: string, { issuer, source }: OAuthSource, caller: Principal): Promise<ConsentRequest | { readonly redirectTo: string }> {
    const person = this.#personOf(caller);
    const parameters = new AuthorizationQuery(query);
    const client = await this.#ports.clients.find(parameters.required('client_id'), source);
    requireRedirect(client, parameters.required('redirect_uri'));
    requireGrantType(client, CODE_GRANT);
    const request = parameters.requestTo(parameters.required('redirect_uri'), issuer);
    if ('redirectTo' in request) return request;
    const { redirectUri, challenge, state, resource, requested } = request;
    const target = { kind: 'redirect', redirectUri, challenge, ...present({ state }) } as const;
    const about = {
      person: person.name,
      clientId: client.id,
      client: clientView(client, redirectUri),
      issuer,
      resource,
      requested,
      target,
    };
    return this.#view(this.#ports.requests.open(about), this.#boundsOf(person, caller));
  }

  async openDevice(userCode: string, { issuer, source }: OAuthSource, caller: Principal): Promise<ConsentRequest> {
    const person = this.#personOf(caller);
    const device = this.#ports.devices.find(userCode);
    // The person has to be at the same name of the hub, so that the consent is about the address that is shown.
    if (device?.issuer !== issuer)
      throw new AtmoError('NOT_FOUND', 'No device waits with this code; compare it with the one that the device shows');
    const client = await this.#ports.clients.find(device.clientId, source);
    requireGrantType(client, DEVICE_GRANT);
    const target = { kind: 'device', deviceKey: device.key } as const;
    const { resource, requested } = device;
    const about = { person: person.name, clientId: client.id, client: deviceView(client), issuer, resource, requested, target };
    return this.#view(this.#ports.requests.open(about), this.#boundsOf(person, caller));
  }

  preview(requestId: string, choice: ConsentChoice, caller: Principal): ConsentPreview {
    const person = this.#personOf(caller);
    this.#ports.requests.require(requestId, person.name);
    return { permissions: permissionsOf(choice, this.#boundsOf(person, caller)), untilMs: choice.untilMs };
  }

  async allow(requestId: string, { choice, permissions: shown, proof }: ShownConsent, caller: Principal): Promise<ConsentAnswer> {
    const person = this.#personOf(caller);
    const request = this.#ports.requests.require(requestId, person.name);
    const permissions = permissionsOf(choice, this.#boundsOf(person, caller));
    if (!isDeepStrictEqual([...shown].sort(), permissions)) {
      throw new AtmoError('CONFLICT', 'What this choice gives has changed since it was shown; look at it again', { permissions });
    }
    this.#ports.people.requireAgreement(caller, consentSubject(requestId, shown), proof);
    this.#ports.grants.requireRoom(person.name);
    const draft = this.#draftOf(request, person, {
      permissions,
      untilMs: choice.untilMs,
      ...present({ givenWith: this.#givenWith(caller) }),
    });
    this.#close(request);
    this.#ports.clients.noteUse(request.clientId);
    await this.#note('oauth.consent_given', request, { agent_id: draft.agentId, permissions, until: isoTime(choice.untilMs) });
    return this.#allowed(request, draft);
  }

  async deny(requestId: string, caller: Principal): Promise<ConsentAnswer> {
    const request = this.#ports.requests.require(requestId, this.#personOf(caller).name);
    this.#close(request);
    await this.#note('oauth.consent_denied', request, {});
    const { target, issuer } = request;
    if (target.kind === 'redirect')
      return { redirectTo: errorRedirect({ ...target, issuer }, oauthError('access_denied', 'The person refused')) };
    this.#ports.devices.answer(target.deviceKey, 'denied');
    return {};
  }

  grants(caller: Principal): readonly OAuthGrantView[] {
    const person = this.#personOf(caller);
    const isShown = ({ person: name }: StoredGrant) => name === person.name || administersTokens(caller);
    return this.#ports.grants.list().filter(isShown).map(grantView);
  }

  async endGrant(id: string, caller: Principal): Promise<void> {
    if (this.grants(caller).some((grant) => grant.id === id) && (await this.#ports.grants.end(id, 'ended_by_person'))) return;
    throw new AtmoError('NOT_FOUND', 'There is no such access, or it has ended');
  }

  #allowed({ target, issuer }: PendingRequest, draft: GrantDraft): ConsentAnswer {
    if (target.kind === 'redirect') {
      const { redirectUri, state } = target;
      return { redirectTo: redirectWith(redirectUri, { code: this.#ports.codes.make(draft, target), state, iss: issuer }) };
    }
    if (this.#ports.devices.answer(target.deviceKey, draft)) return {};
    throw new AtmoError('NOT_FOUND', 'The device does not wait any more; begin again there');
  }

  #draftOf(
    { clientId, client, issuer, resource }: PendingRequest,
    { name, role }: Person,
    given: Pick<GrantDraft, 'permissions' | 'untilMs' | 'givenWith'>,
  ): GrantDraft {
    const agentId = this.#ports.agents.idFor({ id: clientId, name: client.name }, name);
    const { host: clientHost } = client;
    const about = { clientId, clientName: client.name, agentId, person: name, role, issuer, resource, ...present({ clientHost }) };
    return { ...about, ...given, consentedAtMs: this.#ports.time.now() };
  }

  #close({ id }: PendingRequest): void {
    if (!this.#ports.requests.close(id)) throw new AtmoError('NOT_FOUND', 'This request for access was answered already');
  }

  #view({ id, client, resource, requested, target, expiresAtMs }: PendingRequest, bounds: ConsentBounds): ConsentRequest {
    const host = target.kind === 'redirect' ? { redirectHost: redirectHost(target.redirectUri) } : {};
    return { id, client, ...host, resource: resource.address, expiresAtMs, requested, choices: choicesFor(bounds) };
  }

  /** Returns the person who calls. An agent cannot consent, not even one that a person has made. */
  #personOf(caller: Principal): Person {
    const person = this.#ports.people.personOf(caller);
    if (person) return person;
    throw permissionDenied('Only a person who is signed in can give an application access');
  }

  /** Returns what the caller is signed in with; undefined for the owner's own credential. */
  #givenWith(caller: Principal): GivenWith | undefined {
    const signIn = this.#ports.people.signInOf(caller);
    const token = caller.token?.chain[0];
    if (signIn !== undefined) return { signIn };
    return token === undefined ? undefined : { token };
  }

  #boundsOf(person: Person, caller: Principal): ConsentBounds {
    const permissions = intersectPermissions(grantsOf(person), caller.permissions);
    // A token that comes from no sign-in cannot be renewed, so it gives nothing for longer than it lasts itself.
    const isRenewed = this.#ports.people.signInOf(caller) !== undefined;
    const ends = [person.limits.untilMs, isRenewed ? undefined : caller.token?.expiresAtMs].filter((end) => end !== undefined);
    return { permissions, untilMs: ends.length > 0 ? Math.min(...ends) : undefined, nowMs: this.#ports.time.now() };
  }

  #note(event: string, { person, client, clientId, resource }: PendingRequest, data: JsonObject): Promise<void> {
    const about = { person, client: client.name, client_id: clientId, resource: resource.address, ...data };
    return recordNote(this.#ports, { event, atMs: this.#ports.time.now(), principalId: person, data: about });
  }
}

function administersTokens({ permissions }: Principal): boolean {
  return permissions.some((permission) => covers(requireGrant(permission), ADMIN_TOKEN, NO_GROUPS));
}

function grantView(grant: StoredGrant): OAuthGrantView {
  const { id, clientName, clientHost, agentId, person, permissions, createdAtMs, lastUsedAtMs, untilMs } = grant;
  const times = { createdAtMs, expiresAtMs: untilMs, ...present({ lastUsedAtMs }) };
  return { id, clientName, agentId, person, permissions, ...times, ...present({ clientHost }) };
}
