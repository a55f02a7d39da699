import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LabHost } from '../../scripts/network-lab/lab-host.ts';
import type { CallAnswer } from '../../src/calls/request-and-answer.ts';
import { ownerDecision } from '../../src/cli/identity/approver-key.ts';
import type { Json, JsonObject } from '../../src/core/json.ts';
import { endOf, endProcess, hasEnded, untilReady, writeConfig } from './hub-child.ts';
import { MAIN } from './main-program.ts';

interface RunningHubOptions {
  readonly stateDir: string;
  /** Written there as its configuration file, which is left as it is when absent. */
  readonly config?: JsonObject;
  readonly env?: Readonly<Record<string, string>>;
  /** Another machine than `hub`; its door is then reached only by `atmo` on that machine. */
  readonly host?: LabHost;
  /** Where the owner asks, if that is not the address that the hub says it has. */
  readonly origin?: string;
  /** Another program than the built one, for example with another page. */
  readonly program?: string;
}

interface CallOptions {
  readonly headers?: Record<string, string>;
  readonly query?: string;
  /** False to see what a bearer of the owner's token alone is told; else the owner agrees to dangerous calls, as `atmo` does. */
  readonly approve?: false;
}

/** A hub in a process of its own, on host `hub` of the private network, and its owner at the HTTP door. */
export class RunningHub implements AsyncDisposable {
  readonly url: string;
  readonly process: ChildProcess;
  /** Everything it logged. */
  readonly log: string[];
  readonly #token: string;
  readonly #stateDir: string;
  /** The address at which the owner asks: over plain HTTP, which a hub takes from its own machine even if it speaks TLS to others. */
  readonly #localUrl: string;

  private constructor(process: ChildProcess, facts: { url: string; token: string; log: string[]; stateDir: string }) {
    this.process = process;
    this.url = facts.url;
    this.#localUrl = facts.url.startsWith('https:') ? `http://127.0.0.1:${new URL(facts.url).port}` : facts.url;
    this.log = facts.log;
    this.#token = facts.token;
    this.#stateDir = facts.stateDir;
  }

  /** Resolves when the hub answers; rejects with its log when it ends before that. */
  static async start({ stateDir, config, env = {}, host, origin, program = MAIN }: RunningHubOptions): Promise<RunningHub> {
    if (config) writeConfig(stateDir, config);
    const settings = { ATMO_STATE_DIR: stateDir, ATMO_HTTP_PORT: '0', ATMO_MATTER_INTERFACE: 'eth0', ...env };
    const line: readonly [string, ...string[]] = [process.execPath, program, 'serve'];
    const [command, ...args] = host?.command(line) ?? line;
    const child = spawn(command, args, { env: { ...process.env, ...settings }, stdio: ['ignore', 'pipe', 'pipe'] });
    const log: string[] = [];
    const said = await untilReady(child, log);
    const url = origin ?? said.origin;
    const token = readFileSync(join(stateDir, 'owner.token'), 'utf8').trim();
    return new RunningHub(child, { url, token, log, stateDir });
  }

  /** Calls a tool; the answer as the door gave it, errors included. */
  async call(tool: string, params: JsonObject = {}, options: CallOptions = {}): Promise<CallAnswer> {
    const answer = await this.#callOnce(tool, params, options);
    if (options.approve === false || answer.status !== 'error' || answer.error.code !== 'APPROVAL_REQUIRED') return answer;
    await this.#agree(String(answer.error.details.approval_id));
    return this.#callOnce(tool, params, options);
  }

  async #callOnce(tool: string, params: JsonObject, { query = '', headers }: CallOptions): Promise<CallAnswer> {
    const response = await this.request(`/api/v1/tools/${encodeURIComponent(tool)}/invoke${query}`, {
      method: 'POST',
      body: JSON.stringify(params),
      headers: { 'content-type': 'application/json', ...headers },
    });
    return (await response.json()) as CallAnswer;
  }

  async #agree(approvalId: string): Promise<void> {
    const path = `/api/v1/approvals/${approvalId}`;
    const decision = ownerDecision((await this.get(path)) as JsonObject, this.#stateDir);
    if (!decision) throw new Error(`the owner cannot approve ${approvalId}: no owner.key in ${this.#stateDir}`);
    const headers = { 'content-type': 'application/json' };
    const response = await this.request(path, { method: 'POST', body: JSON.stringify(decision), headers });
    if (!response.ok) throw new Error(`the owner's approval was refused: ${await response.text()}`);
  }

  /** The result of a call that has to succeed. */
  async result(tool: string, params: JsonObject = {}): Promise<JsonObject> {
    const answer = await this.call(tool, params);
    if (answer.status !== 'success') throw new Error(`${tool} ${JSON.stringify(params)}: ${JSON.stringify(answer.error)}`);
    return answer.result as JsonObject;
  }

  async get(path: string): Promise<Json> {
    return (await (await this.request(path)).json()) as Json;
  }

  request(path: string, init: RequestInit & { headers?: Record<string, string> } = {}): Promise<Response> {
    const sent = fetch(`${this.#localUrl}${path}`, { ...init, headers: { authorization: `Bearer ${this.#token}`, ...init.headers } });
    return sent.catch((cause: unknown) => {
      if (!hasEnded(this.process)) throw cause;
      throw new Error(`${path}: the hub ${endOf(this.process)}; its log ends with\n${this.log.slice(-20).join('\n')}`, { cause });
    });
  }

  /** Stops it as systemd does; answers the exit code. */
  async stop(): Promise<number | null> {
    return endProcess(this.process, 'SIGTERM');
  }

  /** As a power cut: no goodbye. */
  async kill(): Promise<void> {
    await endProcess(this.process, 'SIGKILL');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}
