import { createHash } from 'node:crypto';
import { OwnerAuthenticator } from '../../../src/auth/owner-token.ts';
import { ProofOfPossession, ReplayCache } from '../../../src/auth/tokens/proof-of-possession.ts';
import { TokenAuthenticator, TokenRefusalLog } from '../../../src/auth/tokens/token-authenticator.ts';
import type { FetchPublic } from '../../../src/connectors/web/public-fetch.ts';
import { consentSubject, type Person, signInStatement } from '../../../src/core/auth/people.ts';
import type { ListedRule } from '../../../src/core/auth/rules.ts';
import type { Device } from '../../../src/core/devices/device-model.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { silentLogger } from '../../../src/core/logger.ts';
import { makeAuthorizationServer } from '../../../src/hub/oauth.ts';
import { ask, MemoryDirectory, makeDevice, makeHttpApi, TOKEN } from '../../http/http-fixture.ts';
import { ANN, type Browser, type HomeOptions, household } from '../people/people-fixture.ts';

export const CALLBACK = 'https://chat.example/callback';
export const VERIFIER = 'v'.repeat(43);
export const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url');
const DAY_MS = 86_400_000;

/** A choice as the page sends it. */
export type Choice = Readonly<Record<string, unknown>>;

export interface LabOptions extends HomeOptions {
  /** Texts of metadata documents by address; every other address cannot be read. */
  readonly documents?: Readonly<Record<string, string>>;
  readonly devices?: readonly Device[];
  /** Fetches metadata documents instead of `documents`. */
  readonly fetch?: FetchPublic;
  /** Agents that the owner's rules name. */
  readonly agentsInRules?: readonly string[];
  readonly proxyUrl?: string;
}

/** A hub with its authorization server behind its HTTP routes, in memory. A lab over the store and key of another is the hub after a restart. */
export async function oauthLab({
  documents = {},
  devices = [makeDevice('hall-lamp', { area: 'Hall' })],
  proxyUrl,
  fetch,
  agentsInRules = [],
  ...options
}: LabOptions = {}) {
  const home = await household(options);
  const { tokens, granted, audit, clock, people, grants, store } = home;
  const fetched: string[] = [];
  const fromDocuments: FetchPublic = async ({ url, maxBytes }) => {
    fetched.push(url);
    const text = documents[url];
    if (text === undefined) throw new AtmoError('PERMISSION_DENIED', `${url} is not on the public internet`);
    if (text.length > maxBytes) throw new AtmoError('PAYLOAD_TOO_LARGE', `${url} has more than ${maxBytes} bytes`);
    return { status: 200, url, headers: new Headers(), body: new TextEncoder().encode(text) };
  };
  const fetchPublic = fetch ?? fromDocuments;
  const listed = agentsInRules.map((agent, line): ListedRule => ({ name: `rule ${line}`, line, effect: 'allow', when: { agent } }));
  const rules = { list: () => ({ file: 'rules.yaml', timezone: 'UTC', default: 'allow' as const, rules: listed }) };
  const logger = silentLogger;
  const time = tokens.time;
  const server = makeAuthorizationServer({ audit, clock, logger, store, time, tokens: tokens.issuer, grants, people, rules, fetchPublic });
  const authenticator = new TokenAuthenticator(
    {
      owner: new OwnerAuthenticator({ matches: (text) => text === TOKEN, mark: () => 'mark', generation: 0 }),
      verifier: tokens.verifier,
      proofs: new ProofOfPossession({ replays: new ReplayCache(tokens), time }, tokens.hub.hubId),
      refusals: new TokenRefusalLog({ audit, clock, logger }),
      granted,
      seal: tokens.seal,
    },
    { hubKey: tokens.hub.publicKey },
  );
  const directory = new MemoryDirectory();
  directory.devices = [...devices];
  const { httpApi } = makeHttpApi(
    { oauth: server, authenticator, people, directory, clock },
    { ...(proxyUrl !== undefined && { proxyUrl }) },
  );
  const json = (path: string, body: unknown, token: string | null = null, headers: Record<string, string> = {}) =>
    ask(httpApi, path, { method: 'POST', token, body, headers });
  const form = (path: string, fields: Readonly<Record<string, string>> | string, headers: Record<string, string> = {}) =>
    ask(httpApi, path, {
      method: 'POST',
      token: null,
      body: typeof fields === 'string' ? fields : new URLSearchParams(fields).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    });
  const register = async (metadata: Readonly<Record<string, unknown>> = {}) =>
    String((await json('/oauth/register', { client_name: 'Claude AI', redirect_uris: [CALLBACK], ...metadata })).json.client_id);
  const choice = (changes: Choice = {}): Choice => ({
    areas: 'all',
    kinds: 'all',
    control: true,
    readings: true,
    locks: false,
    valves: false,
    administration: false,
    until: new Date(clock.now() + 90 * DAY_MS).toISOString(),
    ...changes,
  });
  const query = (clientId: string, changes: Readonly<Record<string, string | undefined>> = {}) => {
    const fields = {
      response_type: 'code',
      client_id: clientId,
      redirect_uri: CALLBACK,
      code_challenge: CHALLENGE,
      code_challenge_method: 'S256',
      state: 's1',
      ...changes,
    };
    return new URLSearchParams(
      Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as [string, string]])),
    ).toString();
  };
  const open = (text: string, token = TOKEN) => json('/api/v1/oauth/requests', { query: text }, token);
  /** The whole consent: opens the request, looks at what it would give, and allows it; the address to which the browser is sent. */
  const consent = async (text: string, token = TOKEN, chosen: Choice = choice()): Promise<URL> => {
    const id = String((await open(text, token)).json.request_id);
    return new URL(String((await allow(id, token, chosen)).json.redirect_to));
  };
  /** Browsers of the persons who are signed in, by their tokens. */
  const browsers = new Map<string, Browser>();
  /** What the page of a person sends with a consent: a signature of the key of the browser. */
  const agreement = (id: string, permissions: readonly string[], token: string) => {
    const by = browsers.get(token);
    if (!by) return {};
    const challenge = people.challenge();
    return { proof: { challenge, signature: by.sign(signInStatement('consent', consentSubject(id, permissions), challenge)) } };
  };
  const allow = async (id: string, token = TOKEN, chosen: Choice = choice()) => {
    const shown = await json(`/api/v1/oauth/requests/${id}/preview`, { choice: chosen }, token);
    const permissions = (shown.json.permissions ?? []) as readonly string[];
    return json(`/api/v1/oauth/requests/${id}/allow`, { choice: chosen, permissions, ...agreement(id, permissions, token) }, token);
  };
  const exchange = (clientId: string, code: string, changes: Readonly<Record<string, string>> = {}) =>
    form('/oauth/token', {
      grant_type: 'authorization_code',
      client_id: clientId,
      code,
      redirect_uri: CALLBACK,
      code_verifier: VERIFIER,
      ...changes,
    });
  const refresh = (clientId: string, token: string, changes: Readonly<Record<string, string>> = {}) =>
    form('/oauth/token', { grant_type: 'refresh_token', client_id: clientId, refresh_token: token, ...changes });
  /** A client that a person has given access. */
  const connected = async ({
    token = TOKEN,
    chosen,
    changes,
  }: {
    readonly token?: string;
    readonly chosen?: Choice;
    readonly changes?: Readonly<Record<string, string>>;
  } = {}) => {
    const clientId = await register();
    const location = await consent(query(clientId, changes), token, chosen ?? choice());
    const answer = await exchange(clientId, location.searchParams.get('code') ?? '');
    const { access_token: access, refresh_token: renewal, scope } = answer.json as JsonObject;
    return {
      clientId,
      code: location.searchParams.get('code') ?? '',
      access: String(access),
      renewal: String(renewal),
      permissions: String(scope).split(' '),
    };
  };
  const get = (path: string, token: string | null = null) => ask(httpApi, path, { token });
  const signedIn = async (...who: Parameters<typeof home.signedIn>) => {
    const signIn = await home.signedIn(...who);
    browsers.set(signIn.token, signIn.by);
    return signIn;
  };
  const signedInToken = async (person: Person = ANN) => (await signedIn(person)).token;
  const events = () => home.notes.map(({ event }) => event);
  return {
    ...home,
    server,
    authenticator,
    httpApi,
    fetched,
    json,
    form,
    get,
    register,
    choice,
    query,
    open,
    agreement,
    allow,
    consent,
    exchange,
    refresh,
    connected,
    signedIn,
    signedInToken,
    events,
  };
}
