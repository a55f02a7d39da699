import { createInterface } from 'node:readline';
import { AtmoError } from '../../src/core/errors.ts';
import type { Json, JsonObject } from '../../src/core/json.ts';
import type { BoxedDevice, DemoHome, DevicePlace } from './demo-world.ts';

/** One question to the home in its private network, one line each way. */
export type HomeRequest =
  | { readonly op: 'devices' }
  | ({ readonly op: 'get' } & DevicePlace)
  | ({ readonly op: 'set'; readonly value: Json } & DevicePlace)
  | { readonly op: 'powerOff'; readonly device: string };

type HomeAnswer = { readonly value: Json } | { readonly error: string };

/** Asks the home over the standard input and output of the process that runs it, one question at a time. */
export class HomeControl implements DemoHome {
  readonly #requests: NodeJS.WritableStream;
  readonly #answers: AsyncIterator<string>;

  constructor(requests: NodeJS.WritableStream, answers: NodeJS.ReadableStream) {
    this.#requests = requests;
    this.#answers = createInterface({ input: answers })[Symbol.asyncIterator]();
  }

  async devices(): Promise<readonly BoxedDevice[]> {
    return (await this.#ask({ op: 'devices' })) as readonly JsonObject[] as unknown as readonly BoxedDevice[];
  }

  get(where: DevicePlace): Promise<unknown> {
    return this.#ask({ op: 'get', ...where });
  }

  async set(where: DevicePlace, value: Json): Promise<void> {
    await this.#ask({ op: 'set', ...where, value });
  }

  async powerOff(device: string): Promise<void> {
    await this.#ask({ op: 'powerOff', device });
  }

  async #ask(request: HomeRequest): Promise<Json> {
    this.#requests.write(`${JSON.stringify(request)}\n`);
    const line = await this.#answers.next();
    if (line.done) throw new AtmoError('INTERNAL_ERROR', 'The virtual home has ended');
    const answer: HomeAnswer = JSON.parse(line.value);
    if ('error' in answer) throw new AtmoError('INTERNAL_ERROR', `The virtual home refused ${request.op}: ${answer.error}`);
    return answer.value;
  }
}
