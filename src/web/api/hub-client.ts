import { AtmoError, type ErrorCode, isErrorCode } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';

/** What the client needs of the page. */
export interface HubClientParts {
  readonly fetch: (path: string, init: RequestInit) => Promise<Response>;
  /** The token of whoever is signed in. */
  readonly token: () => string | undefined;
  /** Told when the hub does not take the token: it expired, was revoked, or never was one. */
  readonly onRefused: (error: HubError) => void;
  /** Path of the script that this page is made of, and how the page is loaded anew. */
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

  /** The JSON of a document or list. `Answer` says its shape: hub and page are of one build. */
  get<Answer = JsonObject>(path: string, options: RequestOptions = {}): Promise<Answer> {
    return this.#json('GET', path, options);
  }

  post<Answer = JsonObject>(path: string, body: JsonObject = {}, options: RequestOptions = {}): Promise<Answer> {
    return this.#json('POST', path, { ...options, body });
  }

  delete<Answer = JsonObject>(path: string, options: RequestOptions = {}): Promise<Answer> {
    return this.#json('DELETE', path, options);
  }

  /** The result of a tool by id or name; a refusal or failure is thrown, APPROVAL_REQUIRED with `approval_id` in its details. */
  async invoke(tool: string, params: JsonObject = {}, options: RequestOptions = {}): Promise<Json> {
    const envelope = await this.post(`/api/v1/tools/${encodeURIComponent(tool)}/invoke`, params, options);
    return envelope.result ?? null;
  }

  /** An answer whose body is read as it comes, such as the event stream. */
  async open(path: string, options: RequestOptions = {}): Promise<Response> {
    const response = await this.#send('GET', path, options);
    if (response.ok) return response;
    return this.#refuse(await bodyOf(response), response.status);
  }

  /**
   * A part of the page that is loaded when it is needed. Where the hub has another page by now the part is gone, and the page
   * loads itself anew; HUB_UNREACHABLE where the hub could not be asked.
   */
  async part<Part>(load: () => Promise<Part>): Promise<Part> {
    try {
      return await load();
    } catch {
      const { build } = this.#parts;
      const shell = await (await this.open('/')).text();
      if (!build || shell.includes(build.script))
        throw new HubError('HUB_UNREACHABLE', 'A part of this page did not come; try again', { status: 0 });
      build.reload();
      // What was wanted waits for the new page.
      return new Promise(() => {});
    }
  }

  async #json<Answer>(method: string, path: string, options: RequestOptions & { readonly body?: JsonObject }): Promise<Answer> {
    const response = await this.#send(method, path, options);
    const body = await bodyOf(response);
    // A call that waits for people is no success though HTTP says 202; a job that began is.
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
      throw new HubError('HUB_UNREACHABLE', 'The hub does not answer; is it running, and is this device in its network?', { status: 0 });
    }
  }

  #refuse(body: unknown, status: number): never {
    const error = errorOfAnswer(body, status);
    if (status === 401) this.#parts.onRefused(error);
    throw error;
  }
}

async function bodyOf(response: Response): Promise<unknown> {
  const text = await response.text();
  if (text === '') return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** What the hub answered instead of a result, or that no hub answered (HUB_UNREACHABLE). */
export class HubError extends AtmoError {
  /** HTTP status; 0 when no answer came. */
  readonly status: number;

  constructor(code: ErrorCode, message: string, { status, details = {} }: { readonly status: number; readonly details?: JsonObject }) {
    super(code, message, details);
    this.status = status;
  }
}

/** The error of an answer: problem details (RFC 9457), or the `error` of an invoke envelope. */
function errorOfAnswer(body: unknown, status: number): HubError {
  const told = isJsonObject(body) && isJsonObject(body.error) ? body.error : body;
  if (!isJsonObject(told)) return new HubError('INTERNAL_ERROR', `The hub answered with status ${status} and without a reason`, { status });
  const text = told.message ?? told.detail;
  const message = typeof text === 'string' ? text : `The hub answered with status ${status}`;
  return new HubError(codeOf(told.code), message, { status, details: isJsonObject(told.details) ? told.details : {} });
}

/** What a person reads of anything thrown. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

function codeOf(code: unknown): ErrorCode {
  return isErrorCode(code) ? code : 'INTERNAL_ERROR';
}
