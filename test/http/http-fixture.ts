import { type MeshPorts, MeshProxy } from '../../src/calls/mesh-ports.ts';
import type { PipelineOptions, ToolFeatures } from '../../src/calls/pipeline-context.ts';
import type { ApprovalQueue } from '../../src/core/auth/approvals.ts';
import type { Authenticator, Principal } from '../../src/core/auth/principal.ts';
import { DeviceAttention } from '../../src/core/devices/device-attention.ts';
import type { DeviceDirectory } from '../../src/core/devices/device-directory.ts';
import type { Device, DeviceDescription } from '../../src/core/devices/device-model.ts';
import { NO_HOME_NAMES } from '../../src/core/devices/device-names.ts';
import type { HistoryPoint, HistoryQuery, Reading, ReadingStore } from '../../src/core/devices/sensor-readings.ts';
import { AtmoError } from '../../src/core/errors.ts';
import { HubProblems } from '../../src/core/health.ts';
import type { DeviceId, SensorId } from '../../src/core/ids.ts';
import { createLogger } from '../../src/core/logger.ts';
import { MetricRegistry } from '../../src/http/metrics.ts';
import type { HealthReport } from '../../src/http/ports.ts';
import { memoryProfile } from '../../src/hub/config/memory-profile.ts';
import { HttpApi, type HttpApiCollaborators, type HttpApiOptions } from '../../src/hub/http.ts';
import { CapabilityCatalogue } from '../../src/tools/registry/capability-catalogue.ts';
import { LexicalEntitySearch } from '../../src/tools/search/entity-search.ts';
import { LexicalToolSearch } from '../../src/tools/search/tool-search.ts';
import { agent, jobsHere, makePipeline, makeTool, owner } from '../calls/pipeline-fixture.ts';
import { NO_OAUTH } from '../no-oauth.ts';
import { NO_PEOPLE } from '../no-people.ts';

export const PORT = 8081;
export const HOST = `127.0.0.1:${PORT}`;
export const TOKEN = 'owner-secret';
/** A token of an agent that may only read. */
export const AGENT_TOKEN = 'agent-secret';

/** Knows the owner's token, and the others by their texts. */
export function authenticatorOf(tokens: Readonly<Record<string, Principal>>): Authenticator {
  const principals = new Map([[TOKEN, owner], ...Object.entries(tokens)]);
  return {
    async authenticate({ bearer: credential }) {
      if (credential === undefined) throw new AtmoError('UNAUTHENTICATED', 'No token came with the request');
      const principal = principals.get(credential);
      if (principal) return { principal };
      throw new AtmoError('TOKEN_INVALID', 'This is not a token of this hub');
    },
    isStillValid: () => true,
  };
}

export function makeDevice(id: string, extra: Partial<Device> = {}): Device {
  return {
    id: id as DeviceId,
    name: id.replaceAll('-', ' '),
    kind: 'node',
    nodeId: '7',
    vendor: { id: 1, name: 'Vendor' },
    product: { id: 2, name: 'Product' },
    deviceTypes: ['DimmableLight'],
    reachability: 'reachable',
    lastSeenMs: 0,
    isSleepy: false,
    ...extra,
  };
}

/** A directory that holds what a test puts in. */
export class MemoryDirectory implements DeviceDirectory {
  devices: Device[] = [];
  readonly descriptions = new Map<string, DeviceDescription>();

  list(): readonly Device[] {
    return this.devices;
  }

  get(id: DeviceId): Device | undefined {
    return this.devices.find((device) => device.id === id);
  }

  describe(id: DeviceId): DeviceDescription | undefined {
    return this.descriptions.get(id);
  }

  onChange(): () => void {
    return () => {};
  }
}

/** Readings that a test sets; it remembers what was asked. */
export class MemoryReadings implements ReadingStore {
  readings: Reading[] = [];
  points: HistoryPoint[] = [];
  asked: HistoryQuery | undefined;

  describe(): void {}
  record(): void {}
  setReachability(): void {}

  sensors(): readonly Reading[] {
    return this.readings;
  }

  current(id: SensorId): Reading | undefined {
    return this.readings.find(({ sensor }) => sensor.id === id);
  }

  history(query: HistoryQuery): readonly HistoryPoint[] {
    this.asked = query;
    return this.points;
  }
}

export function makeReading(id: string, value: number, atMs: number): Reading {
  const [device = '', name = ''] = id.split('/');
  const sensor = { id: id as SensorId, device: device as DeviceId, name, kind: name, unit: '°C', area: 'Hall', title: name };
  return { sensor, value, atMs, reachability: 'reachable' };
}

interface FixtureOptions extends Partial<HttpApiOptions> {
  readonly approvals?: ApprovalQueue;
  readonly features?: ToolFeatures;
  readonly pipeline?: Partial<PipelineOptions>;
  /** The mesh that the hub is in. */
  readonly ports?: MeshPorts;
}

/** What a httpApi has of a hub that registered nothing, of which the mesh drops nothing and whose signature and OAuth nobody asks for. */
const unusedHttpParts: Pick<HttpApiCollaborators, 'meshDrops' | 'registrations' | 'signChallenge' | 'oauth'> = {
  meshDrops: () => ({}),
  registrations: { record: () => undefined, isManagedBy: () => false },
  signChallenge: () => new Uint8Array(),
  oauth: NO_OAUTH,
};

/** A httpApi over a real pipeline, without a socket. */
export function makeHttpApi(
  extra: Partial<HttpApiCollaborators> = {},
  { host = '127.0.0.1', port = PORT, tls, proxyUrl, pipeline, ...collaborators }: FixtureOptions = {},
) {
  const meshProxy = new MeshProxy(() => collaborators.ports);
  const setup = makePipeline(
    { capabilities: () => [], remote: meshProxy.tools, mesh: meshProxy.view, router: meshProxy.router, ...collaborators },
    pipeline,
  );
  const capabilities = new CapabilityCatalogue(setup.registry);
  const directory = new MemoryDirectory();
  const readings = new MemoryReadings();
  const metrics = new MetricRegistry();
  const logged: string[] = [];
  const health: HealthReport = { status: 'ok', nodeId: 'hub-1', version: '1.2.3', startedAtMs: setup.clock.now(), problems: [] };
  const httpApi = new HttpApi(
    {
      ...setup.collaborators,
      registry: setup.registry,
      store: setup.store,
      tools: setup.tools,
      jobs: jobsHere(setup.jobs),
      mesh: meshProxy,
      capabilities,
      pipeline: setup.pipeline,
      directory,
      attention: new DeviceAttention(setup.clock),
      readings,
      authenticator: authenticatorOf({ [AGENT_TOKEN]: agent('sensor:read') }),
      metrics,
      search: new LexicalToolSearch(),
      entities: new LexicalEntitySearch(),
      homeNames: NO_HOME_NAMES,
      health: { health: () => health },
      problems: new HubProblems(),
      people: NO_PEOPLE,
      ...unusedHttpParts,
      logger: createLogger('debug', (line) => logged.push(line)),
      ...extra,
    },
    { host, port, eventStreams: memoryProfile('normal').eventStreams, ...(tls && { tls }), ...(proxyUrl !== undefined && { proxyUrl }) },
  );
  const addTool = (input: Parameters<typeof makeTool>[0]) => setup.registry.register(makeTool(input));
  return { ...setup, capabilities, httpApi, directory, readings, metrics, logged, addTool };
}

interface Ask {
  readonly method?: string;
  readonly token?: string | null;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
}

/** Asks as an honest local client does: right Host, the owner's token, JSON. */
export async function ask(httpApi: HttpApi, path: string, { method, token = TOKEN, headers, body }: Ask = {}) {
  const response = await httpApi.app.request(`http://${HOST}${path}`, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: {
      host: HOST,
      ...(token !== null && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') ?? false;
  return { status: response.status, headers: response.headers, text, json: isJson && text !== '' ? JSON.parse(text) : undefined };
}
