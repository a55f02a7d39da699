import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Json, JsonObject } from '../../src/core/json.ts';
import { bundle, ROOT } from '../bundle.ts';
import { requestJson } from './json-request.ts';
import { MeasuredProgram } from './measured-program.ts';

interface DeviceState {
  readonly id: string;
  readonly reachability: string;
  readonly age_ms: number | null;
}

/** The bundled hub as a process of its own, called over HTTP by its owner. */
export class HubProgram implements AsyncDisposable {
  readonly process: MeasuredProgram;
  readonly #headers: Readonly<Record<string, string>>;

  private constructor(process: MeasuredProgram, token: string) {
    this.process = process;
    this.#headers = { authorization: `Bearer ${token}` };
  }

  /**
   * `dir` keeps its state and log; `program` is a bundle of a hub, that of `build` if absent; `env` comes beside the variables that every
   * such hub has.
   */
  static async start(dir: string, program = join(ROOT, 'dist/atmo.mjs'), env: Readonly<Record<string, string>> = {}): Promise<HubProgram> {
    const stateDir = join(dir, 'hub');
    const process = await MeasuredProgram.start({
      command: [program, 'serve'],
      env: { ATMO_STATE_DIR: stateDir, ATMO_HTTP_PORT: '0', ATMO_MATTER_INTERFACE: 'eth0', ATMO_LOG: 'warn', ...env },
      logFile: join(dir, 'hub.log'),
    });
    return new HubProgram(process, readFileSync(join(stateDir, 'owner.token'), 'utf8').trim());
  }

  /** Where scripts/build.ts puts it: one level below the root, beside the data files of the checkout. */
  static build(): Promise<void> {
    return bundle({ entry: 'src/main.ts', outDir: join(ROOT, 'dist'), name: 'atmo' });
  }

  /** Answers the id of the new device. */
  async commission(code: string, name: string): Promise<string> {
    const { result } = await this.#request('/api/v1/commission', { code, name, attestation: 'off' });
    const [device] = (result as { devices?: readonly DeviceState[] }).devices ?? [];
    return device?.id ?? '';
  }

  /** Answers the whole invoke envelope. */
  call(tool: string, params: JsonObject): Promise<JsonObject> {
    return this.#request(`/api/v1/tools/${encodeURIComponent(tool)}/invoke`, params);
  }

  async devices(): Promise<readonly DeviceState[]> {
    const { devices } = await this.#request('/api/v1/devices');
    return devices as readonly Json[] as unknown as readonly DeviceState[];
  }

  #request(path: string, body?: JsonObject): Promise<JsonObject> {
    return requestJson(this.process.url.replace(/\/$/, '') + path, body, this.#headers);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.process[Symbol.asyncDispose]();
  }
}
