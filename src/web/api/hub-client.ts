import { AtmoError, type ErrorCode, isErrorCode } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject, objectOf, tryParseJson } from '../../core/json.ts';

/** The parts of the page that the client uses. */
export interface HubClientParts {
  readonly fetch: (path: string, init: RequestInit) => Promise<Response>;
  /** The token of whoever is signed in. */
  readonly token: () => string | undefined;
  /** Is called when the hub rejects the token: it expired, was revoked, or is invalid. */
  readonly onRefused: (error: HubError) => void;
  /** Path of the main script of this page, and a function that reloads the page. */
  readonly build?: { readonly script: string; reload(): void };
}

export interface RequestOptions {
  readonly signal?: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The hub's HTTP API with the token of whoever is signed in. Everything but success is thrown as HubError. */
export class HubClient {
  readonly #parts: HubClientParts;

  constructor(parts: HubClientParts) {
    this.#parts = parts;
  }

  /** Returns the JSON of a document or list. `Answer` is its type: hub and page are of one build. */
  get<Answer = JsonObject>(path: string, options: RequestOptions = {}): Promise<Answer> {
    return this.#json('GET', path, options);
  }

  post<Answer = JsonObject>(path: string, body: JsonObject = {}, options: RequestOptions = {}): Promise<Answer> {
    return this.#json('POST', path, { ...options, body });
  }

  delete<Answer = JsonObject>(path: string, options: RequestOptions = {}): Promise<Answer> {
    return this.#json('DELETE', path, options);
  }

  /** Returns the result of a tool by id or name; a refusal or failure is thrown, APPROVAL_REQUIRED with `approval_id` in its details. */
  async invoke(tool: string, params: JsonObject = {}, options: RequestOptions = {}): Promise<Json> {
    const envelope = await this.post(`/api/v1/tools/${encodeURIComponent(tool)}/invoke`, params, options);
    return envelope.result ?? null;
  }

  /** Returns a response whose body is read as it arrives, such as the event stream. */
  async open(path: string, options: RequestOptions = {}): Promise<Response> {
    const response = await this.#send('GET', path, options);
    if (response.ok) return response;
    return this.#refuse(tryParseJson(await response.text()), response.status);
  }

  /**
   * Loads a part of the page on demand. Where the hub serves another build by now the part is gone, and the page reloads itself;
   * Throws HUB_UNREACHABLE if the hub does not answer.
   */
  async part<Part>(load: () => Promise<Part>): Promise<Part> {
    try {
      return await load();
    } catch {
      const { build } = this.#parts;
      const shell = await (await this.open('/')).text();
      if (!build || shell.includes(build.script)) throw new HubError('HUB_UNREACHABLE', 'A part of this page did not come; try again');
      build.reload();
      // The caller never continues: the new page replaces it.
      return new Promise(() => {});
    }
  }

  async #json<Answer>(method: string, path: string, options: RequestOptions & { readonly body?: JsonObject }): Promise<Answer> {
    const response = await this.#send(method, path, options);
    const body = tryParseJson(await response.text());
    // Status 202 is a job that has begun, or a call that waits for approval: only the former is a success.
    const isError = !response.ok || (isJsonObject(body) && (body.status === 'error' || body.code === 'APPROVAL_REQUIRED'));
    if (isError) return this.#refuse(body, response.status);
    return body as Answer;
  }

  async #send(method: string, path: string, { signal, headers, body }: RequestOptions & { readonly body?: JsonObject }): Promise<Response> {
    const token = this.#parts.token();
    const init: RequestInit = {
      method,
      headers: {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(body && { 'content-type': 'application/json' }),
        ...headers,
      },
      cache: 'no-store',
      credentials: 'omit',
      ...(signal && { signal }),
      ...(body && { body: JSON.stringify(body) }),
    };
    try {
      return await this.#parts.fetch(path, init);
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new HubError('HUB_UNREACHABLE', 'The hub does not answer; is it running, and is this device in its network?');
    }
  }

  #refuse(body: unknown, status: number): never {
    const error = errorOfAnswer(body, status);
    if (status === 401) this.#parts.onRefused(error);
    throw error;
  }
}

/** An error answer of the hub, or HUB_UNREACHABLE if none came. */
export class HubError extends AtmoError {
  /** HTTP status; 0 without an answer. */
  readonly status: number;

  constructor(
    code: ErrorCode,
    message: string,
    { status = 0, details = {} }: { readonly status?: number; readonly details?: JsonObject } = {},
  ) {
    super(code, message, details);
    this.status = status;
  }
}

/** Returns the error of an answer: problem details (RFC 9457), or the `error` of an invoke envelope. */
function errorOfAnswer(body: unknown, status: number): HubError {
  const problem = isJsonObject(body) && isJsonObject(body.error) ? body.error : body;
  if (!isJsonObject(problem))
    return new HubError('INTERNAL_ERROR', `The hub answered with status ${status} and without a reason`, { status });
  const { code, message = problem.detail, details } = problem;
  const text = typeof message === 'string' ? message : `The hub answered with status ${status}`;
  return new HubError(isErrorCode(code) ? code : 'INTERNAL_ERROR', text, { status, details: objectOf(details) });
}

/** Returns the message of anything thrown, for people. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
