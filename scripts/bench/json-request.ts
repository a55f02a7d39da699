import { AtmoError } from '../../src/core/errors.ts';
import { isJsonObject, type JsonObject } from '../../src/core/json.ts';

const LIMIT_MS = 60_000;

/** One HTTP exchange in JSON; anything but a success throws with what the program said. */
export async function requestJson(url: string, body?: JsonObject, headers: Readonly<Record<string, string>> = {}): Promise<JsonObject> {
  const response = await fetch(url, {
    method: body ? 'POST' : 'GET',
    headers: { 'content-type': 'application/json', ...headers },
    ...(body && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(LIMIT_MS),
  });
  const answer: unknown = await response.json();
  if (response.ok && isJsonObject(answer)) return answer;
  throw new AtmoError('INTERNAL_ERROR', `${url} answered ${response.status}: ${JSON.stringify(answer)}`);
}
