import type { GrantedTokens } from '../auth/oauth/access-tokens.ts';
import { AuthorizationCodes } from '../auth/oauth/authorization-codes.ts';
import { ClientAgents } from '../auth/oauth/client-agents.ts';
import { ClientDocuments, type FetchDocument } from '../auth/oauth/client-documents.ts';
import { ConsentRequests } from '../auth/oauth/consent-requests.ts';
import { ConsentService } from '../auth/oauth/consent-service.ts';
import { DeviceCodes } from '../auth/oauth/device-codes.ts';
import { GrantStore } from '../auth/oauth/grant-store.ts';
import { OAuthGrants } from '../auth/oauth/grants.ts';
import { clientOf, OAuthClients } from '../auth/oauth/oauth-client.ts';
import { TokenService } from '../auth/oauth/token-service.ts';
import type { Household } from '../auth/people/household.ts';
import type { PeopleService } from '../auth/people/people-service.ts';
import type { SignInStore } from '../auth/people/sign-in-store.ts';
import type { RuleStore } from '../auth/rules/rule-store.ts';
import type { FetchPublic } from '../connectors/web/public-fetch.ts';
import type { AuthorizationServer } from '../core/auth/oauth.ts';
import type { TokenAuthority } from '../core/auth/principal.ts';
import type { HubContext } from '../core/context.ts';
import { AtmoError } from '../core/errors.ts';

const MAX_DOCUMENT_BYTES = 5_120;
const DOCUMENT_TIMEOUT_MS = 5_000;

interface GrantInputs extends Pick<HubContext, 'audit' | 'logger' | 'store' | 'time'> {
  readonly tokens: TokenAuthority;
  readonly granted: GrantedTokens;
  readonly household: Household;
  readonly signIns: SignInStore;
}

/** Returns the grants of persons to applications. They are started before the persons, whose changes end grants. */
export function makeGrants({ audit, logger, store, time, tokens, granted, household, signIns }: GrantInputs): OAuthGrants {
  return new OAuthGrants({ audit, logger, time, tokens, granted, grants: new GrantStore({ store, time }), people: household, signIns });
}

interface ServerInputs extends Pick<HubContext, 'audit' | 'clock' | 'logger' | 'store' | 'time'> {
  readonly tokens: TokenAuthority;
  readonly grants: OAuthGrants;
  readonly people: PeopleService;
  /** The owner's rules: no application gets a name for which they hold something ready. */
  readonly rules: Pick<RuleStore, 'list'>;
  /** Fetches from public addresses alone. */
  readonly fetchPublic: FetchPublic;
}

/** Returns the authorization server. It holds no timers and opens nothing. */
export function makeAuthorizationServer(inputs: ServerInputs): AuthorizationServer {
  const { audit, clock, logger, store, time, tokens, grants, people, rules, fetchPublic } = inputs;
  const clients = new OAuthClients({
    store,
    time,
    clock,
    documents: new ClientDocuments({ clock, fetchDocument: documentFetch(fetchPublic), parse: clientOf }),
    hasGrant: (id) => grants.hasClient(id),
  });
  const codes = new AuthorizationCodes({ store, time });
  const devices = new DeviceCodes({ store, time, clock });
  const isTaken = (id: string) => tokens.list().some(({ grant, agentId }) => grant === undefined && agentId === id);
  const isInRules = (id: string) => rules.list().rules.some(({ when }) => [when.agent ?? []].flat().includes(id));
  const agents = new ClientAgents({ store, time, isTaken, isInRules });
  const requests = new ConsentRequests({ store, time });
  return {
    endpoints: new TokenService({ audit, logger, time, clients, codes, devices, grants }),
    consent: new ConsentService({ audit, logger, time, people, clients, requests, codes, devices, grants, agents }),
  };
}

/** Returns a fetch for metadata documents of clients: public addresses alone, no redirects, 5 KB, 5 s. */
function documentFetch(fetchPublic: FetchPublic): FetchDocument {
  return async (url) => {
    const signal = AbortSignal.timeout(DOCUMENT_TIMEOUT_MS);
    // A request with headers of its own follows no redirect.
    const { status, body } = await fetchPublic({ url, signal, maxBytes: MAX_DOCUMENT_BYTES, accept: 'application/json', headers: {} });
    if (status === 200) return new TextDecoder().decode(body);
    throw new AtmoError('SERVICE_REFUSED', `it answers with status ${status}`, { status });
  };
}
