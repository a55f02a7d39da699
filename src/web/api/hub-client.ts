import { AtmoError, type ErrorCode, isErrorCode } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject, objectOf, tryParseJson } from '../../core/json.ts';
import { text } from '../texts/text.ts';

/** The services of the page that the client uses. */
export interface HubClientParts {
  readonly fetch: (path: string, init: RequestInit) => Promise<Response>;
  /** Returns the token of the signed-in person. */
  readonly token: () => string | undefined;
  /** Gets a new token after the hub rejected the token, and returns whether there is one. */
  readonly renew?: () => Promise<boolean>;
  /** Called when the hub rejects the token. The token has expired, was revoked, or is invalid. */
  readonly onRefused: (error: HubError) => void;
  /** Called when no response came, so that the page looks at its connection at once. */
  readonly onUnreachable?: () => void;
  /** `script` is the path of this page's main script. If an import fails and the hub now serves another main script, `reload` is called. */
  readonly build?: { readonly script: string; reload(): void };
}

/** Options of a request to the hub. */
export interface RequestOptions {
  readonly signal?: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The result of a tool call. */
export interface TracedResult {
  readonly result: Json;
  readonly traceId: string;
}

/** Calls the hub's HTTP API with the token of the signed-in person. Throws HubError for every response that is not a success. */
export class HubClient {
  readonly #parts: HubClientParts;
  /** True once the page reloads itself. Several imports can fail together, and another reload would interrupt the first. */
  #isReloading = false;

  constructor(parts: HubClientParts) {
    this.#parts = parts;
  }

  /** Returns the JSON body of a GET request. Does not check that it fits `Answer`, because hub and page come from the same build. */
  get<Answer = JsonObject>(path: string, options: RequestOptions = {}): Promise<Answer> {
    return this.#json('GET', path, options);
  }

  post<Answer = JsonObject>(path: string, body: JsonObject = {}, options: RequestOptions = {}): Promise<Answer> {
    return this.#json('POST', path, { ...options, body });
  }

  put<Answer = JsonObject>(path: string, body: JsonObject, options: RequestOptions = {}): Promise<Answer> {
    return this.#json('PUT', path, { ...options, body });
  }

  delete<Answer = JsonObject>(path: string, options: RequestOptions = {}): Promise<Answer> {
    return this.#json('DELETE', path, options);
  }

  /**
   * Calls a tool by its id or name, and returns the result. Throws HubError if the call fails. If the call waits for approval, the error
   * has the code APPROVAL_REQUIRED, and its `details` contain `approval_id`.
   */
  async invoke(tool: string, params: JsonObject = {}, options: RequestOptions = {}): Promise<Json> {
    return (await this.invokeTraced(tool, params, options)).result;
  }

  /** Calls a tool as `invoke` does. Returns the result, and the trace id by which the call can be undone. */
  async invokeTraced(tool: string, params: JsonObject = {}, options: RequestOptions = {}): Promise<TracedResult> {
    const { result = null, trace_id: traceId } = await this.post(`/api/v1/tools/${encodeURIComponent(tool)}/invoke`, params, options);
    return { result, traceId: String(traceId) };
  }

  /** Sends a GET request and returns the response before its body has arrived. Used for the event stream, whose body has no end. */
  async open(path: string, options: RequestOptions = {}): Promise<Response> {
    const response = await this.#send('GET', path, options);
    if (response.ok) return response;
    return this.#refuse(tryParseJson(await response.text()), response.status);
  }

  /**
   * Imports a script of the page when it is needed. If the import fails because the hub now serves another build without that script, the
   * page reloads itself. If the import fails for another reason, throws HUB_UNREACHABLE.
   */
  async part<Part>(load: () => Promise<Part>): Promise<Part> {
    try {
      return await load();
    } catch {
      const { build } = this.#parts;
      const shell = await (await this.open('/')).text();
      if (!build || shell.includes(build.script)) throw new HubError('HUB_UNREACHABLE', text('shell.part_missing'));
      if (!this.#isReloading) build.reload();
      this.#isReloading = true;
      // The promise never resolves, because the reloaded page replaces this one.
      return new Promise(() => {});
    }
  }

  async #json<Answer>(method: string, path: string, options: RequestOptions & { readonly body?: JsonObject }): Promise<Answer> {
    const response = await this.#send(method, path, options);
    const body = tryParseJson(await response.text());
    // The hub sends status 202 for a started job and for a call that waits for approval. Only the started job is a success.
    const isError = !response.ok || (isJsonObject(body) && (body.status === 'error' || body.code === 'APPROVAL_REQUIRED'));
    if (isError) return this.#refuse(body, response.status);
    return body as Answer;
  }

  /** Sends a request. If the hub rejects the token, gets a new one and sends it again, once. A rejected request was not carried out. */
  async #send(method: string, path: string, options: RequestOptions & { readonly body?: JsonObject }): Promise<Response> {
    const response = await this.#sendOnce(method, path, options);
    if (response.status !== 401 || !(await this.#parts.renew?.())) return response;
    return this.#sendOnce(method, path, options);
  }

  async #sendOnce(
    method: string,
    path: string,
    { signal, headers, body }: RequestOptions & { readonly body?: JsonObject },
  ): Promise<Response> {
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
      this.#parts.onUnreachable?.();
      throw new HubError('HUB_UNREACHABLE', text('shell.no_answer'));
    }
  }

  #refuse(body: unknown, status: number): never {
    const error = errorOfAnswer(body, status);
    if (status === 401) this.#parts.onRefused(error);
    throw error;
  }
}

/** An error that the hub returned. If the hub sent no response, the code is HUB_UNREACHABLE. */
export class HubError extends AtmoError {
  /** HTTP status; 0 if there was no response. */
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

/** Returns the error in a response body. The body is problem details (RFC 9457) or the envelope of a tool call. */
function errorOfAnswer(body: unknown, status: number): HubError {
  const problem = isJsonObject(body) && isJsonObject(body.error) ? body.error : body;
  if (!isJsonObject(problem)) return new HubError('INTERNAL_ERROR', text('shell.no_reason', { status }), { status });
  const { code, message = problem.detail, details } = problem;
  const words = typeof message === 'string' ? message : text('shell.no_reason', { status });
  return new HubError(isErrorCode(code) ? code : 'INTERNAL_ERROR', words, { status, details: objectOf(details) });
}

/** Returns a message for people about a thrown value. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
