import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { AtmoError } from '../../../src/core/errors.ts';
import { isJsonObject, type JsonObject, objectOf } from '../../../src/core/json.ts';
import { type CallResult, modernClient } from '../mcp/mcp-clients.ts';

/** The client of an MCP server that nobody told the hub about: it knows the address of the server, and finds everything else from there. */
export class OAuthProgram implements AsyncDisposable {
  readonly #mcp: string;
  readonly #metadata: JsonObject;
  readonly #clientId: string;
  readonly #back: Server;
  readonly #redirectUri: string;
  readonly #verifier = randomBytes(32).toString('base64url');
  readonly #state = randomBytes(16).toString('base64url');
  readonly #answer = Promise.withResolvers<URLSearchParams>();
  #token = '';
  #polledMs = 0;

  private constructor(mcp: string, facts: { metadata: JsonObject; clientId: string; back: Server; redirectUri: string }) {
    this.#mcp = mcp;
    this.#metadata = facts.metadata;
    this.#clientId = facts.clientId;
    this.#back = facts.back;
    this.#redirectUri = facts.redirectUri;
    this.#back.on('request', ({ url = '' }, response) => {
      response.setHeader('content-type', 'text/html').end('<!doctype html><title>Back</title><h1>Back at the program</h1>');
      if (url.startsWith('/callback?')) this.#answer.resolve(new URL(url, redirectOrigin(this.#redirectUri)).searchParams);
    });
  }

  /** Is refused by the MCP server, reads where its authorization server is, and registers there. */
  static async start(mcp: string, name: string): Promise<OAuthProgram> {
    const refused = await fetch(mcp, { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } });
    const [, resource = ''] = /resource_metadata="([^"]+)"/.exec(refused.headers.get('www-authenticate') ?? '') ?? [];
    const [issuer] = objectOf(await json(await fetch(resource))).authorization_servers as readonly string[];
    const metadata = await json(await fetch(`${issuer}/.well-known/oauth-authorization-server`));
    const back = createServer().listen(0, '127.0.0.1');
    await once(back, 'listening');
    const redirectUri = `http://127.0.0.1:${(back.address() as AddressInfo).port}/callback`;
    const { client_id: clientId } = await post(metadata.registration_endpoint, {
      client_name: name,
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    });
    return new OAuthProgram(mcp, { metadata, clientId: String(clientId), back, redirectUri });
  }

  /** The address to which the program sends its person. */
  get authorizeUrl(): string {
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: this.#clientId,
      redirect_uri: this.#redirectUri,
      state: this.#state,
      code_challenge: createHash('sha256').update(this.#verifier).digest('base64url'),
      code_challenge_method: 'S256',
      resource: this.#mcp,
    });
    return `${String(this.#metadata.authorization_endpoint)}?${query}`;
  }

  /** Resolves with what the hub sent back, once the browser has come to the program. Rejects if it is about another request. */
  async answer(): Promise<URLSearchParams> {
    const answer = await this.#answer.promise;
    const isOwn = answer.get('state') === this.#state && answer.get('iss') === this.#metadata.issuer;
    if (!isOwn) throw new AtmoError('VALIDATION_ERROR', `the answer ${answer} is about another request`);
    return answer;
  }

  /** Waits for the code and takes its token. */
  async takeToken(): Promise<JsonObject> {
    const code = (await this.answer()).get('code') ?? '';
    const tokens = await this.#tokenFor({
      grant_type: 'authorization_code',
      code,
      redirect_uri: this.#redirectUri,
      code_verifier: this.#verifier,
    });
    this.#token = String(tokens.access_token);
    return tokens;
  }

  /** Asks for the codes of a device, which a person types in. */
  async deviceCodes(): Promise<JsonObject> {
    return postForm(this.#metadata.device_authorization_endpoint, { client_id: this.#clientId, resource: this.#mcp });
  }

  /** Asks whether the person has decided, not sooner than the hub wants it. The answer has `access_token` or `error`. */
  async poll({ device_code: code, interval }: JsonObject): Promise<JsonObject> {
    await setTimeout(Math.max(0, this.#polledMs + Number(interval) * 1_000 - Date.now()));
    this.#polledMs = Date.now();
    const answer = await this.#tokenFor({ grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code: String(code) });
    this.#token = String(answer.access_token ?? '');
    return answer;
  }

  /** Calls a tool of the MCP server with the token. Rejects if the server does not take the token. */
  async call(tool: string, args: JsonObject): Promise<CallResult> {
    const client = await modernClient({ kind: 'http', url: this.#mcp, token: this.#token });
    try {
      return await client.call(tool, args);
    } finally {
      await client.close();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#back.closeAllConnections();
    this.#back.close();
  }

  #tokenFor(parameters: Readonly<Record<string, string>>): Promise<JsonObject> {
    return postForm(this.#metadata.token_endpoint, { ...parameters, client_id: this.#clientId, resource: this.#mcp });
  }
}

function redirectOrigin(uri: string): string {
  return new URL(uri).origin;
}

async function json(response: Response): Promise<JsonObject> {
  const body: unknown = await response.json();
  return isJsonObject(body) ? body : {};
}

async function post(url: unknown, body: JsonObject): Promise<JsonObject> {
  return json(await fetch(String(url), { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }));
}

async function postForm(url: unknown, parameters: Readonly<Record<string, string>>): Promise<JsonObject> {
  return json(await fetch(String(url), { method: 'POST', body: new URLSearchParams(parameters) }));
}
