import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AtmoError } from '../../src/core/errors.ts';
import { isJsonObject, type JsonObject } from '../../src/core/json.ts';
import { ROOT } from '../bundle.ts';
import type { BenchFigure } from './figure.ts';
import { HubProgram } from './hub-program.ts';
import { requestJson } from './json-request.ts';
import { MeasuredProgram } from './measured-program.ts';
import { median, quantile, timed } from './statistics.ts';
import { Workspace } from './workspace.ts';

const TOOLS = 2_000;
const WARM_UP = 100;
const SAMPLES = 500;
const LISTS = 50;
const CALL_BAR = 2;
const LIST_BAR_MS = 50;
const PROTOCOL = '2026-07-28';
const META = {
  'io.modelcontextprotocol/protocolVersion': PROTOCOL,
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': {},
};
/** Tools as a house full of dimmers has them; each is a file of the owner's own in the manifest. */
const TOOL_MODULE = `
export function createTool({ index }) {
  const device = 'lamp-' + index;
  const state = { type: 'object', properties: { brightness: { type: 'number' } }, required: ['brightness'] };
  return {
    definition: {
      name: 'set',
      namespace: 'house',
      description: 'Sets the brightness of the dimmer "Lamp ' + index + '". In the area "Room ' + (index % 40) + '".',
      category: 'acting',
      parameters: {
        type: 'object',
        properties: {
          brightness: { type: 'integer', minimum: 0, maximum: 100, description: 'Brightness, percent' },
          seconds: { type: 'number', minimum: 0, maximum: 6000, description: 'How long the change takes, in seconds' },
        },
        required: ['brightness'],
        additionalProperties: false,
      },
      returns: { type: 'object', properties: { state, settled: { type: 'boolean' } }, required: ['state', 'settled'] },
      permissions: ['device:control:' + device],
      execution: { side_effects: false },
      metadata: { device, area: 'Room ' + (index % 40), tags: ['dimmer', 'light'], title: 'Set brightness' },
    },
    execute: async ({ brightness }) => ({ state: { brightness }, settled: true }),
  };
}
`;

/** The same call over MCP and over the HTTP API in turns, lists of a large house, and what the first client costs. */
export async function run(): Promise<BenchFigure[]> {
  await HubProgram.build();
  using workspace = new Workspace();
  await using hub = await startHub(workspace.dir);
  const client = new Client(hub.url.replace(/\/$/, ''), readFileSync(join(workspace.dir, 'state/owner.token'), 'utf8').trim());
  for (let turn = 0; turn < WARM_UP; turn++) await client.invoke(turn);
  const quietMb = hub.rssMegabytes;
  const firstMs = await timed(() => client.list());
  const servedMb = hub.rssMegabytes;
  return [
    ...(await callFigures(client)),
    ...(await listFigures(client)),
    reported('mcp.first_request', firstMs, { unit: 'ms', samples: 1, vs: 'loads the SDK; a hub without MCP clients never does' }),
    reported('mcp.rss', servedMb - quietMb, { unit: 'MB', samples: 1, vs: `after that request, above ${Math.round(quietMb)} MB` }),
  ];
}

async function callFigures(client: Client): Promise<readonly BenchFigure[]> {
  const mcpMs: number[] = [];
  const restMs: number[] = [];
  for (let turn = 0; turn < WARM_UP + SAMPLES; turn++) {
    const viaMcp = await timed(() => client.call(turn));
    const viaRest = await timed(() => client.invoke(turn));
    if (turn < WARM_UP) continue;
    mcpMs.push(viaMcp);
    restMs.push(viaRest);
  }
  const ratio = median(mcpMs) / median(restMs);
  const ms = { unit: 'ms', samples: SAMPLES };
  return [
    {
      ...reported('mcp.call_ratio_p50', ratio, { unit: 'ratio', samples: SAMPLES, vs: 'the same call over the HTTP API' }),
      bar: CALL_BAR,
      ok: ratio <= CALL_BAR,
    },
    reported('mcp.call_p50', median(mcpMs), { ...ms, vs: 'tools/call over Streamable HTTP' }),
    reported('mcp.call_p99', quantile(mcpMs, 0.99), { ...ms, vs: 'tools/call over Streamable HTTP' }),
    reported('mcp.rest_p50', median(restMs), { ...ms, vs: 'POST /api/v1/tools/{id}/invoke' }),
  ];
}

async function listFigures(client: Client): Promise<readonly BenchFigure[]> {
  const times: number[] = [];
  for (let turn = 0; turn < LISTS; turn++) times.push(await timed(() => client.list()));
  const page = median(times);
  return [
    {
      ...reported('mcp.list_p50', page, { unit: 'ms', samples: LISTS, vs: `first page of ${TOOLS} tools` }),
      bar: LIST_BAR_MS,
      ok: page <= LIST_BAR_MS,
    },
  ];
}

/** A hub without Matter that has the house's tools from a manifest. */
function startHub(dir: string): Promise<MeasuredProgram> {
  const tools = Array.from({ length: TOOLS }, (_, index) => ({ name: nameOf(index), source: 'file:./house.mjs', config: { index } }));
  writeFileSync(join(dir, 'house.mjs'), TOOL_MODULE, { mode: 0o600 });
  writeFileSync(join(dir, 'tools.yaml'), JSON.stringify({ tools }), { mode: 0o600 });
  writeFileSync(join(dir, 'config.yaml'), `matter: {enabled: false}\ntools: {manifest: ${join(dir, 'tools.yaml')}}\n`, { mode: 0o600 });
  return MeasuredProgram.start({
    command: [join(ROOT, 'dist/atmo.mjs'), 'serve'],
    env: { ATMO_STATE_DIR: join(dir, 'state'), ATMO_CONFIG: join(dir, 'config.yaml'), ATMO_HTTP_PORT: '0', ATMO_LOG: 'warn' },
    logFile: join(dir, 'hub.log'),
  });
}

function nameOf(index: number): string {
  return `lamp_${index}_set`;
}

/** The bare requests of both doors: what is measured is the hub, not a client library. */
class Client {
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(url: string, token: string) {
    this.#url = url;
    this.#headers = { authorization: `Bearer ${token}` };
  }

  /** POST /api/v1/tools/{id}/invoke. */
  invoke(turn: number): Promise<JsonObject> {
    return requestJson(`${this.#url}/api/v1/tools/${nameOf(turn)}/invoke`, { brightness: turn % 100 }, this.#headers);
  }

  /** `tools/call` of the same tool. */
  call(turn: number): Promise<JsonObject> {
    return this.#ask('tools/call', { name: nameOf(turn), arguments: { brightness: turn % 100 } });
  }

  /** The first page of `tools/list`. */
  list(): Promise<JsonObject> {
    return this.#ask('tools/list', {});
  }

  async #ask(method: string, params: JsonObject): Promise<JsonObject> {
    const headers = {
      ...this.#headers,
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': PROTOCOL,
      'mcp-method': method,
      ...(typeof params.name === 'string' && { 'mcp-name': params.name }),
    };
    const body = { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: META } };
    const { result, error } = await requestJson(`${this.#url}/mcp/devices`, body, headers);
    if (isJsonObject(result) && result.isError !== true) return result;
    throw new AtmoError('INTERNAL_ERROR', `${method} failed: ${JSON.stringify(error ?? result)}`);
  }
}

function reported(name: string, value: number, how: Pick<BenchFigure, 'unit' | 'samples' | 'vs'>): BenchFigure {
  return { name, value, bar: null, ok: true, ...how };
}
