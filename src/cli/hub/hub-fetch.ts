import { type ClientRequest, type IncomingMessage, Agent as PlainAgent, request as plainRequest, type RequestOptions } from 'node:http';
import { Agent, request } from 'node:https';
import type { CliIo } from '../cli-io.ts';
import { trustedAuthority } from './hub-trust.ts';

/** A connection without data for so long is dead, for example after the machine slept. `fetch` of Node has the same limit. */
const IDLE_MS = 300_000;
/** Statuses of responses that have no body (Fetch standard, null body status). */
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

/**
 * Returns a `fetch` for hubs. If the authority of an https hub is known, only that authority is trusted for it. Node's own `fetch` takes no
 * authority, and obeys NODE_TLS_REJECT_UNAUTHORIZED and the proxy of HTTP_PROXY, which would get the token. The environment may be that of a
 * host of agents, so requests are made with `node:http` and `node:https` and with agents of their own, which obey none of these.
 */
export function hubFetch(env: CliIo['env']): CliIo['fetch'] {
  const plain = new PlainAgent({ keepAlive: true });
  const agents = new Map<string, Agent>();
  return (text, init) => {
    const url = new URL(text);
    if (url.protocol !== 'https:')
      return fetchThrough((options, onAnswer) => plainRequest(url, { agent: plain, ...options }, onAnswer), init);
    const authority = trustedAuthority(env, url);
    const key = authority ?? '';
    const agent =
      agents.get(key) ?? new Agent({ ...(authority !== undefined && { ca: authority }), keepAlive: true, rejectUnauthorized: true });
    agents.set(key, agent);
    return fetchThrough((options, onAnswer) => request(url, { agent, ...options }, onAnswer), init);
  };
}

/** Begins a request to the hub. */
type Send = (options: RequestOptions, onAnswer: (incoming: IncomingMessage) => void) => ClientRequest;

/** Sends a request. Rejects like `fetch`: with the reason of an aborted signal, otherwise with a TypeError that has a cause. */
function fetchThrough(send: Send, { method = 'GET', headers, body, signal }: RequestInit): Promise<Response> {
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
  const options = { method, headers: Object.fromEntries(new Headers(headers)), ...(signal && { signal }) };
  const outgoing = send(options, (incoming) => {
    const { statusCode: status = 0, headers: answered } = incoming;
    const isStatus = status >= 200 && status < 600;
    if (isStatus && (status < 300 || status >= 400 || status === 304)) return resolve(responseOf(incoming, status));
    incoming.destroy();
    if (!isStatus) return reject(new TypeError('fetch failed', { cause: new TypeError(`the status ${status} is none of HTTP`) }));
    // A hub never redirects, and a request may contain a token or a PIN that only this hub may see.
    reject(new TypeError('fetch failed', { cause: new TypeError(`redirected to ${answered.location}`) }));
  });
  outgoing.on('error', (cause) => reject(signal?.aborted ? signal.reason : new TypeError('fetch failed', { cause })));
  outgoing.setTimeout(IDLE_MS, () => outgoing.destroy(new TypeError('the hub sent nothing for five minutes')));
  outgoing.end(body ?? undefined);
  return promise;
}

function responseOf(incoming: IncomingMessage, status: number): Response {
  const headers = new Headers();
  for (let index = 0; index + 1 < incoming.rawHeaders.length; index += 2)
    headers.append(incoming.rawHeaders[index] ?? '', incoming.rawHeaders[index + 1] ?? '');
  if (!WITHOUT_BODY.has(status)) return new Response(bodyOf(incoming), { status, headers });
  incoming.resume();
  return new Response(null, { status, headers });
}

/** Returns the body as a stream that can be cancelled at any time; that of `Readable.toWeb` ends the process of Node 20 then. */
function bodyOf(incoming: IncomingMessage): ReadableStream<Uint8Array> {
  const chunks: AsyncIterator<Uint8Array> = incoming[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = await chunks.next();
        if (next.done) controller.close();
        else controller.enqueue(next.value);
      },
      cancel: () => void incoming.destroy(),
    },
    { highWaterMark: 0 },
  );
}
