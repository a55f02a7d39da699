import { Agent, request } from 'node:http';
import { AtmoError } from '../../src/core/errors.ts';
import { isJsonObject, type JsonObject } from '../../src/core/json.ts';

const LIMIT_MS = 60_000;
// One connection that stays open, and no more client than that: what is measured is the program, not fetch().
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

/** One HTTP exchange in JSON; anything but a success throws with what the program said. */
export async function requestJson(url: string, body?: JsonObject, headers: Readonly<Record<string, string>> = {}): Promise<JsonObject> {
  const { status, text } = await exchange(url, body && JSON.stringify(body), headers);
  const answer: unknown = JSON.parse(text);
  if (status < 300 && isJsonObject(answer)) return answer;
  throw new AtmoError('INTERNAL_ERROR', `${url} answered ${status}: ${text}`);
}

function exchange(url: string, body: string | undefined, headers: Readonly<Record<string, string>>) {
  const { promise, resolve, reject } = Promise.withResolvers<{ readonly status: number; readonly text: string }>();
  const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
  const options = {
    agent,
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'content-type': 'application/json', ...length, ...headers },
  };
  const sent = request(url, { ...options, timeout: LIMIT_MS }, (response) => {
    const chunks: Buffer[] = [];
    response.on('data', (chunk: Buffer) => chunks.push(chunk));
    response.on('end', () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }));
    response.on('error', reject);
  });
  sent.on('timeout', () => sent.destroy(new AtmoError('TIMEOUT', `${url} did not answer within ${LIMIT_MS} ms`)));
  sent.on('error', reject);
  sent.end(body);
  return promise;
}
