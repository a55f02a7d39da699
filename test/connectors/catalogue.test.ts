import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { agentTools } from '../../src/automations/agent-tools.ts';
import { checkAutomationTool } from '../../src/automations/check/check-tools.ts';
import { convertAutomationTool } from '../../src/automations/plan/convert-tool.ts';
import { NO_DEVICES } from '../../src/core/devices/device-directory.ts';
import { isJsonObject, type Json, type JsonObject } from '../../src/core/json.ts';
import { ServiceStack } from '../../src/core/lifecycle.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { OWN_CAPABILITIES } from '../../src/hub/capabilities.ts';
import { loadConfig } from '../../src/hub/config/config.ts';
import { openConnectors } from '../../src/hub/connectors.ts';
import type { Infrastructure } from '../../src/hub/infrastructure.ts';
import type { ToolServices } from '../../src/hub/tool-services.ts';
import { ownState } from '../../src/mesh/gossip/own-state.ts';
import { classTools } from '../../src/profiles/tools/class-tools.ts';
import { controlMatterDevice } from '../../src/profiles/tools/control-matter-device.ts';
import { sensorTools } from '../../src/tools/builtin/sensor-tools.ts';
import { lintDefinition } from '../../src/tools/definition/definition-lint.ts';
import { CapabilityCatalogue } from '../../src/tools/registry/capability-catalogue.ts';
import { SchemaValidator } from '../../src/tools/schema/schema-validator.ts';
import { ask, makeHttpApi } from '../http/http-fixture.ts';
import { programsFake } from '../tools/programs/program-sandbox-fake.ts';
import { CATALOGUE, type CatalogueRow, NEEDS_SETTING, SEED_NAMES } from './catalogue-table.ts';
import { messagesConfig } from './messages/messages-fixture.ts';

const folder = mkdtempSync(join(tmpdir(), 'catalogue-'));
afterAll(() => rmSync(folder, { recursive: true }));

const EVERYTHING = {
  notify: { recipients: { anna: { ways: { phone: { ntfy: { url: 'http://ntfy.lan/anna' } } } } } },
  email: { host: 'mail.lan', from: 'hub@example.org' },
  slack: { token: 'env:SLACK' },
  sms: { url: 'http://sms.lan', body: { to: '{phone}', text: '{message}' }, id_at: '/id' },
  models: {
    endpoints: { attic: { url: 'http://attic.lan/v1' } },
    models: {
      small: { endpoint: 'attic', model: 'small', tasks: ['llm', 'vision'] },
      ears: { endpoint: 'attic', model: 'ears', tasks: ['speech'] },
      near: { endpoint: 'attic', model: 'near', tasks: ['embeddings'] },
    },
  },
  cameras: { door: { url: 'http://door.lan/picture.jpg' } },
  atmosphere: { relay: 'ws://127.0.0.1:9', mesh_id: 'open', calls: { outgoing: true } },
  location: { hub: { latitude: 48.2, longitude: 16.4, accuracy_m: 10 } },
  web: {},
  search: { url: 'http://search.lan' },
  files: { roots: { notes: { path: join(folder, 'notes'), writable: true } } },
  databases: { energy: { sqlite: join(folder, 'energy.db') } },
  sandbox: { container_engine: 'podman', commands: { up: { description: 'Since when', argv: ['uptime'], approval: false } } },
};

/** Those of the hub itself: they are made of parts that no definition depends on. */
const ports = {} as never;
const ownTools = [
  ...sensorTools(ports),
  ...agentTools(ports, ports),
  checkAutomationTool(ports),
  convertAutomationTool(ports, { charge: () => {} }),
  ...classTools(ports),
  controlMatterDevice({ ...(ports as object), profiles: { riskOf: () => undefined } } as never),
];

/** The tools of a hub with these connectors, at a door without a socket. */
async function hubWith(connectors: object, missingProgram?: string) {
  const hub = makeHttpApi();
  const { registry } = hub;
  const capabilities = new CapabilityCatalogue(registry);
  for (const capability of OWN_CAPABILITIES) capabilities.add(capability);
  for (const tool of ownTools) registry.register(tool);
  const stack = new ServiceStack();
  const auth = { key: { hubId: 'hub-1' } };
  const infrastructure = { ...hub, auth, directory: NO_DEVICES, logger: silentLogger } as unknown as Infrastructure;
  await openConnectors(infrastructure, { ...hub, capabilities } as unknown as ToolServices, {
    config: { ...loadConfig({}, join(folder, 'state')), connectors: messagesConfig(connectors) },
    env: { SLACK: 'xoxb-1' },
    programs: programsFake({ stdout: 'up 3 days' }, missingProgram),
    version: '1.0.0',
    stack,
  });
  return { ...hub, capabilities, stack };
}

const everything = await hubWith(EVERYTHING);
const nothing = await hubWith({});
afterAll(async () => {
  for (const { stack } of [everything, nothing]) await stack[Symbol.asyncDispose]();
});

type TestHub = typeof nothing;

function announced({ registry, capabilities }: TestHub) {
  const parts = {
    registry,
    devices: NO_DEVICES,
    capabilities: () => capabilities.list(NO_DEVICES, () => false),
    isOnline: () => true,
    links: () => [],
    addresses: () => [],
  };
  const { state } = ownState(parts, { name: 'cellar', version: '1.0.0', announcesDevices: true });
  return state.tools.map(({ id }) => id.replace(/@.*/, ''));
}

/** What a door tells of a tool, in the words of the catalogue and no others. */
async function rowOf({ httpApi }: TestHub, row: CatalogueRow): Promise<Json> {
  const { json } = await ask(httpApi, `/api/v1/tools/${encodeURIComponent(row.id)}`);
  const { parameters, returns, requires, execution, routing, metadata }: PublicTool = json;
  const properties = Object.entries(row.parameters).map(([name, wanted]) => [name, likeIt(parameters.properties[name], wanted)]);
  return {
    id: row.id,
    category: metadata.category,
    parameters: Object.fromEntries(properties),
    required: [...(parameters.required ?? [])].sort(),
    returns: row.returns.filter((name) => name in returns.properties),
    capabilities: requires.capabilities,
    permissions: requires.permissions,
    ...(row.execution && { execution: likeIt(execution, row.execution) }),
    ...(row.routing && { routing: likeIt(routing, row.routing) }),
  };
}

interface PublicTool {
  readonly parameters: { readonly properties: JsonObject; readonly required?: string[] };
  readonly returns: { readonly properties: JsonObject };
  readonly requires: { readonly capabilities: string[]; readonly permissions: string[] };
  readonly execution: JsonObject;
  readonly routing: JsonObject;
  readonly metadata: { readonly category: string };
}

/** The members that the catalogue tells. */
function likeIt(found: Json | undefined, wanted: JsonObject): Json {
  return isJsonObject(found) ? Object.fromEntries(Object.keys(wanted).map((key) => [key, found[key] ?? null])) : null;
}

describe('the catalogue', () => {
  test('has 25 tools of six kinds, and one for Matter', () => {
    expect(CATALOGUE.filter(({ id }) => id.startsWith('core:'))).toHaveLength(25);
    expect(new Set(CATALOGUE.map(({ category }) => category)).size).toBe(6);
  });

  test.each(CATALOGUE.map((row) => [row.id, row] as const))('%s is what it says, configured or not', async (_, row) => {
    const wanted = { ...row, required: row.required.toSorted() };
    expect(await rowOf(everything, row)).toEqual(wanted);
    expect(await rowOf(nothing, row)).toEqual(wanted);
  });
});

describe('a hub with everything configured', () => {
  test('has all of it, announces it, and has the capabilities that it takes', () => {
    const { registry, capabilities } = everything;
    const ids = [...CATALOGUE.map(({ id }) => id), ...NEEDS_SETTING.map(([id]) => id)];
    expect(ids.filter((id) => registry.find(id)?.isAvailable?.() === false || registry.find(id)?.missingSetting?.() !== undefined)).toEqual(
      [],
    );
    expect(announced(everything)).toEqual(expect.arrayContaining(ids));
    const needed = ids.flatMap((id) => registry.find(id)?.definition.requires.capabilities ?? []);
    const ofDevices = ['device_control', 'light_control', 'thermostat_control', 'matter_bridge'];
    expect(needed.filter((type) => !capabilities.types().includes(type) && !ofDevices.includes(type))).toEqual([]);
  });
});

describe('what no start proves again', () => {
  test.each(everything.registry.all().map(({ id, definition }) => [id, definition] as const))(
    '%s: schemas are sound, examples fit',
    (_, definition) => {
      const validator = new SchemaValidator();
      // A copy counts as one from outside.
      for (const schema of [definition.parameters, definition.returns]) validator.compile({ ...schema });
      expect(lintDefinition(definition, validator, 'script')).toEqual([]);
    },
  );
});

describe('a hub with nothing configured', () => {
  test('lists what needs a setting as unavailable, and everything else as it is', () => {
    const unavailable = nothing.registry.all().filter(({ isAvailable }) => isAvailable?.() === false);
    expect(unavailable.map(({ id }) => id.replace(/@.*/, '')).sort()).toEqual(NEEDS_SETTING.map(([id]) => id).sort());
  });

  test('has none of the capabilities that come with settings', () => {
    expect(nothing.capabilities.types().toSorted()).toEqual(['agent_runtime', 'internet', 'sensor_access', 'storage']);
  });

  test('announces none of them', () => {
    const told = announced(nothing);
    expect(told).toContain('core:store_data');
    expect(NEEDS_SETTING.filter(([id]) => told.includes(id))).toEqual([]);
  });

  test.each(NEEDS_SETTING)('answers a call of %s with what to set: %s', async (id, setting) => {
    const { status, json } = await invoke(nothing, id, exampleOf(nothing, id));
    expect([status, json.error]).toMatchObject([501, { code: 'NOT_CONFIGURED', message: expect.stringContaining(`set ${setting}`) }]);
  });
});

describe('the names of other systems', () => {
  test.each(SEED_NAMES)('%s is %s at the door', async (name, id) => {
    const { status, json } = await ask(everything.httpApi, `/api/v1/tools/${name}`);
    expect([status, json.id]).toEqual([200, `${id}@1.0.0`]);
  });

  test('are names to call by', async () => {
    expect((await invoke(everything, 'tool_json_parse', { text: '[1]' })).json).toMatchObject({ result: { json: '[\n  1\n]' } });
    expect((await invoke(everything, 'tool_exec', { cmd: 'uptime' })).json).toMatchObject({ result: { stdout: 'up 3 days' } });
  });
});

function invoke({ httpApi }: TestHub, tool: string, body: JsonObject) {
  return ask(httpApi, `/api/v1/tools/${encodeURIComponent(tool)}/invoke`, { body });
}

/** Parameters that its definition shows; those of a command line depend on the owner's commands. */
/** What is called where the owner has set nothing that an example could name. */
const CALLS: Readonly<Record<string, JsonObject>> = {
  'core:exec': { cmd: 'uptime' },
  'core:get_camera_frame': { camera_id: 'porch' },
  'core:look_through_camera': { camera_id: 'porch', task: 'describe' },
  'core:notify': { recipient: 'somebody', message: 'Hello' },
};

function exampleOf({ registry }: TestHub, id: string): JsonObject {
  const [example] = registry.find(id)?.definition.metadata.examples ?? [];
  return example?.params ?? CALLS[id] ?? { command: 'uptime' };
}
