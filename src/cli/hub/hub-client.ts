import { AtmoError, ERROR_CODES, type ErrorCode, isErrorCode } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject, objectOf, tryParseJson } from '../../core/json.ts';
import type { CliIo } from '../cli-io.ts';
import { ownerDecision } from '../identity/approver-key.ts';
import { type Credential, findCredential, findOwnerCredential, hubUrl } from '../identity/credential.ts';
import { isDueForRenewal, renewLogin } from '../identity/sign-in.ts';
import { answerText, sseMessages } from './answer-body.ts';
import { absentHubAdvice, hubOfRawKey, hubOfStateDir, type KnownHub, unreachableError, verifyHub } from './hub-trust.ts';

/** A hub that runs answers at once what its health is, a slow board in seconds. Its watchdog ends one that is silent for a minute. */
const HEALTH_LIMIT_MS = 30_000;

interface RequestParts {
  readonly method?: 'GET' | 'POST' | 'DELETE';
  readonly body?: JsonObject;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

interface InvokeOptions {
  readonly headers: Readonly<Record<string, string>>;
  /** Called with each progress report of the tool, which has `fraction` and `note`. */
  readonly onChunk?: (chunk: JsonObject) => void;
}

/** Query parameters. A parameter whose value is undefined is omitted. */
export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

interface ClientOptions {
  /** If set, the client uses the owner's token even if ATMO_TOKEN or a login provides another token. */
  readonly as?: 'owner';
  /** Id or name of the hub in the mesh that shall run the requests. The connected hub forwards the requests to this hub. */
  readonly hub?: string | undefined;
}

/**
 * Client of a hub's HTTP API. It throws the hub's errors as AtmoError. If the owner makes a dangerous call, the client approves it with the
 * owner's key and repeats it. Any other caller gets APPROVAL_REQUIRED.
 */
export class HubClient {
  readonly #io: Pick<CliIo, 'env' | 'fetch' | 'signal'>;
  readonly #options: ClientOptions;
  #proof: Promise<void> | undefined;

  constructor(io: Pick<CliIo, 'env' | 'fetch' | 'signal'>, options: ClientOptions = {}) {
    this.#io = io;
    this.#options = options;
  }

  get url(): string {
    return hubUrl(this.#io.env);
  }

  get(path: string, query: Query = {}): Promise<JsonObject> {
    return this.#json(withQuery(path, query), {});
  }

  post(path: string, body: JsonObject, headers: Readonly<Record<string, string>> = {}): Promise<JsonObject> {
    return this.#json(path, { method: 'POST', body, headers });
  }

  delete(path: string): Promise<JsonObject> {
    return this.#json(path, { method: 'DELETE' });
  }

  async call(tool: string, params: JsonObject): Promise<Json> {
    try {
      const envelope = await this.post(`/api/v1/tools/${encodeURIComponent(tool)}/invoke`, params);
      return envelope.result ?? null;
    } catch (error) {
      throw this.#missingRight(error, `"${tool}"`);
    }
  }

  /** Returns the hub's health, even while the hub starts or stops (HTTP 503). Throws HUB_UNREACHABLE if it is silent for 30 s. */
  async health(): Promise<JsonObject> {
    const response = await this.#send('/healthz', { signal: AbortSignal.timeout(HEALTH_LIMIT_MS) });
    const answer = await readJson(response);
    if (typeof answer.node_id === 'string') return answer;
    throw errorOf(answer, response.status);
  }

  /** Calls a tool and returns the call's envelope, which may contain an error. If `path` starts a job, returns the job instead. */
  async invoke(path: string, body: JsonObject, { headers, onChunk }: InvokeOptions): Promise<JsonObject> {
    const call = async () => {
      const accept = onChunk && { accept: 'text/event-stream' };
      const response = await this.#send(path, { method: 'POST', body, headers: { ...headers, ...accept } });
      const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
      const answer = onChunk && isStream ? await streamedAnswer(response, onChunk) : await readJson(response);
      if (response.ok || answer.status === 'error') return answer;
      throw errorOf(answer, response.status);
    };
    const answer = await call();
    return answer.status === 'error' && (await this.#ownerConsents(errorOf(answer, 0))) ? call() : answer;
  }

  /** Returns the response of an event stream. The caller reads its body. */
  async stream(path: string, query: Query, headers: Readonly<Record<string, string>>): Promise<Response> {
    const response = await this.#send(withQuery(path, query), { headers });
    if (!response.ok) throw errorOf(await readJson(response), response.status);
    return response;
  }

  async #json(path: string, parts: RequestParts): Promise<JsonObject> {
    try {
      return await this.#jsonOnce(path, parts);
    } catch (error) {
      if (await this.#ownerConsents(error)) return this.#jsonOnce(path, parts);
      throw path.startsWith('/api/v1/tools/') ? error : this.#missingRight(error, '"hub:');
    }
  }

  async #jsonOnce(path: string, parts: RequestParts): Promise<JsonObject> {
    const response = await this.#send(path, parts);
    const answer = await readJson(response);
    // Status 202 means that a job has started or that a call waits for approval. Only the waiting call has an error in its body.
    const isWaiting = response.status === ERROR_CODES.APPROVAL_REQUIRED.httpStatus && (answer.status === 'error' || 'code' in answer);
    if (response.ok && !isWaiting) return answer;
    throw errorOf(answer, response.status);
  }

  /** If `error` says that the tool does not exist, returns an error that says why. Otherwise returns `error` unchanged. */
  #missingRight(error: unknown, tool: string): unknown {
    const isHidden = error instanceof AtmoError && error.code === 'TOOL_NOT_FOUND' && error.message.startsWith(`There is no tool ${tool}`);
    const source = this.#credential()?.source;
    if (!isHidden || source === undefined) return error;
    if (source === 'owner') return missingToolError(error);
    const whose = source === 'login' ? 'your login' : 'the token in ATMO_TOKEN';
    const name = /^There is no tool "([^"]*)"/.exec(error.message)?.[1] ?? tool;
    return new AtmoError(
      'TOOL_NOT_FOUND',
      `${name} does not exist for ${whose}; where its rights do not reach, use the owner's ("sudo atmo …", without ATMO_TOKEN)`,
      error.details,
      { cause: error },
    );
  }

  /** If the owner made the call, approves it with the owner's key. Returns whether the call can now be repeated. */
  async #ownerConsents(error: unknown): Promise<boolean> {
    if (!(error instanceof AtmoError) || error.code !== 'APPROVAL_REQUIRED') return false;
    // The approval request is at another hub, which has its own approvers.
    if (typeof error.details.node_id === 'string') return false;
    const stateDir = this.#credential()?.stateDir;
    if (stateDir === undefined) return false;
    const path = `/api/v1/approvals/${encodeURIComponent(String(error.details.approval_id))}`;
    const decision = ownerDecision(await this.#jsonOnce(path, {}), stateDir);
    return decision !== undefined && this.#submit(path, decision);
  }

  /**
   * Sends a decision. Returns false if the owner's key is not enrolled, for example because an approver removed it. Then another approver
   * must approve the call.
   */
  async #submit(path: string, decision: JsonObject): Promise<boolean> {
    try {
      await this.#jsonOnce(path, { method: 'POST', body: decision });
      return true;
    } catch (error) {
      if (error instanceof AtmoError && error.code === 'PERMISSION_DENIED') return false;
      throw error;
    }
  }

  #credential(): Credential | undefined {
    return this.#options.as === 'owner' ? findOwnerCredential(this.#io.env) : findCredential(this.#io.env);
  }

  async #send(path: string, { method = 'GET', body, headers = {}, signal }: RequestParts): Promise<Response> {
    const token = path.startsWith('/healthz') ? undefined : await this.#token();
    return this.#reach(path, {
      method,
      headers: {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(this.#options.hub !== undefined && { 'x-hub': this.#options.hub }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    });
  }

  /** Returns the token. If the key of the token's hub is known, the hub at the URL must first prove that it has this key. */
  async #token(): Promise<string | undefined> {
    const credential = this.#credential();
    const hub = credential && knownHubOf(credential);
    if (hub) this.#proof ??= this.#proveOnce(hub);
    await this.#proof;
    const login = credential?.login?.renewable;
    if (!login || !isDueForRenewal(login, Date.now())) return credential?.token;
    return (await renewLogin((path, body) => this.postPublic(path, body), this.#io, login)).token;
  }

  /** Asks the hub for a proof. A failed one does not count for the next request, since the hub may then be there again. */
  async #proveOnce(hub: KnownHub): Promise<void> {
    try {
      await verifyHub(this.url, hub, (path) => this.#reach(path, { method: 'GET' }));
    } catch (error) {
      this.#proof = undefined;
      throw error;
    }
  }

  /** Sends a POST request without a token, for signing in. */
  async postPublic(path: string, body: JsonObject): Promise<JsonObject> {
    const headers = { 'content-type': 'application/json' };
    const response = await this.#reach(path, { method: 'POST', headers, body: JSON.stringify(body) });
    const answer = await readJson(response);
    if (response.ok) return answer;
    throw errorOf(answer, response.status);
  }

  async #reach(path: string, init: RequestInit): Promise<Response> {
    try {
      // Redirects are errors: a hub never redirects, and requests may contain PINs that only this hub may see.
      return await this.#io.fetch(`${this.url}${path}`, {
        redirect: 'error',
        ...init,
        signal: AbortSignal.any([init.signal, this.#io.signal].filter((signal) => signal != null)),
      });
    } catch (cause) {
      // Another process may be at this address next, so the hub has to prove again who it is.
      this.#proof = undefined;
      throw unreachableError(this.url, cause, absentHubAdvice(this.url));
    }
  }
}

function knownHubOf({ stateDir, login }: Credential): KnownHub | undefined {
  if (stateDir !== undefined) return hubOfStateDir(stateDir);
  return login?.hubKey === undefined ? undefined : hubOfRawKey(login.hubKey, login.file, '"sudo atmo login" writes it anew');
}

/** Returns a path with the query parameters that are defined. */
export function withQuery(path: string, query: Query): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
  return search.size === 0 ? path : `${path}?${search}`;
}

async function readJson(response: Response): Promise<JsonObject> {
  const value = tryParseJson(await answerText(response));
  if (isJsonObject(value)) return value;
  throw new AtmoError(
    'HUB_UNREACHABLE',
    `What answers at ${response.url || 'the address'} is not a hub (HTTP ${response.status}, no JSON)`,
  );
}

/** Converts the error in a response to an AtmoError. The response is problem details (RFC 9457) or the envelope of a call. */
export function errorOf(answer: JsonObject, httpStatus: number): AtmoError {
  const body = isJsonObject(answer.error) ? answer.error : answer;
  const code = codeIn(body) ?? 'INTERNAL_ERROR';
  const message = [body.message, body.detail].find((text) => typeof text === 'string') ?? `The hub answered with HTTP ${httpStatus}`;
  // What the hub sends as `log_id` is dropped, because it would stand in a command that a person may copy.
  const { log_id: _, ...sent } = objectOf(body.details);
  const details = { ...sent, ...(code === 'INTERNAL_ERROR' && logIdIn(answer)) };
  return new AtmoError(code, code === 'APPROVAL_REQUIRED' ? `${message}; ${approvalAdvice(details)}, then call again` : message, details);
}

/** Returns `log_id`, the id with which the hub logs an error: the call's trace id, or the id of the request. */
function logIdIn({ trace_id: traceId, instance }: JsonObject): JsonObject {
  const [id] = /[\w-]{8,64}$/.exec(String(traceId ?? instance ?? '')) ?? [];
  return id === undefined ? {} : { log_id: id };
}

/** Returns the code of an error in a response; undefined if the code is unknown. */
export function codeIn({ code }: JsonObject): ErrorCode | undefined {
  return isErrorCode(code) ? code : undefined;
}

/** Returns the advice for APPROVAL_REQUIRED. For a call on another hub, an approver of that hub must approve, there or on this hub. */
export function approvalAdvice({ approval_id: id, node_id: hubId, node_name: name = hubId }: JsonObject): string {
  if (typeof hubId !== 'string') return `a person agrees with "atmo approve ${id}"`;
  return `there a person agrees with "atmo approve ${id}", or here, with a key enrolled there, with "atmo approve ${id} --hub ${name}"`;
}

/** Returns the error for a tool that not even the owner sees. Either Matter is off on the hub, or the hub is older than this CLI. */
function missingToolError(error: AtmoError): AtmoError {
  const reason = 'its Matter part is off (matter.enabled in the configuration), or it is older than this atmo';
  return new AtmoError('TOOL_NOT_FOUND', `The hub has nothing behind this command: ${reason}`, error.details, { cause: error });
}

/** Returns the envelope at the end of a streamed call, and passes progress to `onChunk`. Throws OUTCOME_UNKNOWN if the stream was cut. */
async function streamedAnswer({ body }: Response, onChunk: (chunk: JsonObject) => void): Promise<JsonObject> {
  try {
    for await (const { event, data } of sseMessages(body)) {
      const value: unknown = JSON.parse(data);
      if (event === 'tool_response' && isJsonObject(value)) return value;
      if (event === 'tool_chunk' && isJsonObject(value)) onChunk(value);
    }
  } catch (cause) {
    throw callInterrupted(cause);
  }
  throw callInterrupted(undefined);
}

function callInterrupted(cause: unknown): AtmoError {
  return new AtmoError('OUTCOME_UNKNOWN', 'The hub went away during the call; look at the state before you call again', {}, { cause });
}

/** Returns whether an error means that the hub is away for now, for example because it restarts. */
export function isInterruption(error: unknown): boolean {
  return error instanceof AtmoError && (error.code === 'HUB_UNREACHABLE' || error.code === 'SHUTTING_DOWN');
}
