import { join } from 'node:path';
import type { JsonObject } from '../../src/core/json.ts';
import { bundle, ROOT } from '../bundle.ts';
import { requestJson } from './json-request.ts';
import { MeasuredProgram } from './measured-program.ts';

/** The bare controller as a process of its own. */
export class BareProgram implements AsyncDisposable {
  readonly process: MeasuredProgram;

  private constructor(process: MeasuredProgram) {
    this.process = process;
  }

  /** `dir` keeps its fabric and log. The bundle is made as the hub's is, but for the patches of matter.js. */
  static async start(dir: string): Promise<BareProgram> {
    return new BareProgram(
      await MeasuredProgram.start({
        command: [join(ROOT, '.run/bench/bare-controller.mjs'), join(dir, 'bare')],
        env: {},
        logFile: join(dir, 'bare.log'),
      }),
    );
  }

  static build(): Promise<void> {
    return bundle({
      entry: 'scripts/bench/bare-controller.ts',
      outDir: join(ROOT, '.run/bench'),
      name: 'bare-controller',
      isMatterPatched: false,
    });
  }

  /** Answers the id of the new peer. */
  async commission(code: string): Promise<string> {
    return String((await this.#post('/commission', { code })).peer);
  }

  /** Milliseconds of the invoke and the read, measured inside of the controller. */
  async switchLight(peer: string, isOn: boolean): Promise<number> {
    return Number((await this.#post('/switch', { peer, on: isOn })).ms);
  }

  #post(path: string, body: JsonObject): Promise<JsonObject> {
    return requestJson(this.process.url + path, body);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.process[Symbol.asyncDispose]();
  }
}
