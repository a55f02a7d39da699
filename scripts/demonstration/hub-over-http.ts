import { setTimeout as sleep } from 'node:timers/promises';
import { AtmoError } from '../../src/core/errors.ts';
import { isJsonObject, type JsonObject } from '../../src/core/json.ts';
import type { BoxedDevice, DemoHub } from './demo-world.ts';

const START_LIMIT_MS = 60_000;
const POLL_MS = 100;
const CALL_LIMIT_MS = 60_000;

/** The hub as any program of this machine meets it: an address and a token. */
export class HubOverHttp implements DemoHub {
  readonly url: string;
  readonly #token: () => string;

  /** `token` answers the token to call with; it throws while there is none. */
  constructor(url: string, token: () => string) {
    this.url = url;
    this.#token = token;
  }

  as(token: string): HubOverHttp {
    return new HubOverHttp(this.url, () => token);
  }

  /** Waits until the hub answers. By then the owner's token is written. */
  async untilReady(): Promise<void> {
    const limitMs = performance.now() + START_LIMIT_MS;
    while (!(await this.#isHealthy())) {
      if (performance.now() > limitMs) throw new AtmoError('HUB_UNREACHABLE', `No hub answered at ${this.url} within a minute`);
      await sleep(POLL_MS);
    }
  }

  async get(path: string): Promise<JsonObject> {
    return this.#send(path);
  }

  async call(tool: string, params: JsonObject): Promise<JsonObject> {
    return this.#send(`/api/v1/tools/${tool}/invoke`, params);
  }

  async commission({ name, area }: BoxedDevice, code: string): Promise<readonly string[]> {
    const answer = await this.#send('/api/v1/commission', { code, name, area, attestation: 'off' });
    const devices = isJsonObject(answer.result) && Array.isArray(answer.result.devices) ? answer.result.devices : undefined;
    if (!devices) throw new AtmoError('COMMISSIONING_FAILED', `${name}: ${JSON.stringify(answer.error)}`);
    return devices.filter(isJsonObject).map((device) => String(device.id));
  }

  async #isHealthy(): Promise<boolean> {
    return fetch(`${this.url}/healthz`, { signal: AbortSignal.timeout(1000) }).then(
      (response) => response.ok,
      () => false,
    );
  }

  async #send(path: string, body?: JsonObject): Promise<JsonObject> {
    const response = await fetch(this.url + path, {
      method: body ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${this.#token()}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(CALL_LIMIT_MS),
    });
    const answer: unknown = await response.json();
    if (isJsonObject(answer)) return answer;
    throw new AtmoError('INTERNAL_ERROR', `${path} answered ${response.status} and no JSON object`);
  }
}
