import { describe, expect, test } from 'vitest';
import { type MeshPorts, MeshProxy, type RemoteSubscription } from '../../../src/calls/mesh-ports.ts';
import type { ForwardedCall } from '../../../src/calls/pipeline-context.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import type { EventListener, EventType } from '../../../src/core/events.ts';
import type { HubId } from '../../../src/core/ids.ts';
import { silentLogger } from '../../../src/core/logger.ts';
import type { Peer } from '../../../src/core/mesh-view.ts';
import { BlobStore } from '../../../src/mesh/gossip/blob-store.ts';
import { DefinitionStore, offeredDefinition } from '../../../src/mesh/gossip/definition-store.ts';
import { DropCounter } from '../../../src/mesh/gossip/gossip-limits.ts';
import type { HubDirectory, KnownHub } from '../../../src/mesh/gossip/known-hub.ts';
import { MeshCatalogue } from '../../../src/mesh/gossip/mesh-catalogue.ts';
import type { RegisteredTool } from '../../../src/tools/definition/tool-definition.ts';
import { SchemaValidator } from '../../../src/tools/schema/schema-validator.ts';
import { makeTool, settled } from '../../calls/pipeline-fixture.ts';
import { modernClient, resultOf } from '../../mcp/mcp-clients.ts';
import { RemoteToolsFake, toolOf } from '../../tools/registry/remote-tools-fake.ts';
import { AGENT_TOKEN, ask, makeDevice, makeHttpApi, makeReading } from '../http-fixture.ts';

const LAMP = { id: 'attic-lamp', name: 'Attic lamp', type: 'light', isReachable: true };
const ATTIC: Peer = {
  id: 'hub-2' as HubId,
  name: 'attic',
  isReachable: true,
  roundTripMs: 2,
  hops: 1,
  capabilities: [],
  state: 'fresh',
  version: '1.0.0',
  lastSeenMs: 0,
  toolCount: 1,
  missingTools: 0,
  devices: [LAMP],
};

/** A httpApi of a hub whose only neighbour has these tools; what is forwarded answers `seen`. */
function makeNeighbour(tools: readonly RegisteredTool[], extra: Partial<MeshPorts> = {}) {
  const forwarded: ForwardedCall[] = [];
  const ports: MeshPorts = {
    view: { meshId: 'mesh-1', peers: () => [ATTIC] },
    tools: new RemoteToolsFake(tools, { 'lab:look@1.0.0': ['hub-2'] }),
    router: {
      forward: async (nodeId, call) => {
        forwarded.push(call);
        return { result: 'seen', nodeId, hops: 1 };
      },
    },
    jobs: { status: async () => Promise.reject(new Error('no')), cancel: async () => Promise.reject(new Error('no')) },
    events: { subscribe: async () => {} },
    ...extra,
  };
  return { ...makeHttpApi({}, { ports }), forwarded };
}

const watch = toolOf(['hub-2'], {
  namespace: 'eye',
  name: 'watch',
  description: 'Watches the birds',
  requires: { permissions: ['eye:see'] },
});

/** The catalogue of a hub that has just been told of all these tools of another, and has read none of them. */
function arriving(tools: readonly RegisteredTool[]): MeshCatalogue {
  const [blobs, clock] = [new BlobStore(), systemClock];
  const announced = tools.map((tool) => ({ id: tool.id as string, hash: offeredDefinition(tool).hash }));
  for (const tool of tools) blobs.add(offeredDefinition(tool).blob);
  const facts = { addresses: [], links: [], capabilities: [], features: [], devices: [], epoch: 1 };
  const { id, name, version, lastSeenMs, state } = ATTIC;
  const hub: KnownHub = { ...facts, id, name, version, lastSeenMs, state, tools: announced };
  const directory: HubDirectory = { hubs: () => [hub], hub: () => hub, onChange: () => () => {} };
  const turns = { clock, onNext: () => catalogue.readSome() };
  const parts = { blobs, validator: new SchemaValidator(), drops: new DropCounter(), logger: silentLogger };
  const catalogue: MeshCatalogue = new MeshCatalogue({ directory, definitions: new DefinitionStore({ ...parts, turns }), clock });
  return catalogue;
}

describe('tools of another hub that has just come', () => {
  const many = Array.from({ length: 150 }, (_, index) =>
    makeTool({
      namespace: 'lab',
      name: `probe_${index + 100}`,
      description: `Probes tank ${index + 100} `.repeat(90),
      category: 'sensing',
    }),
  );
  const last = 'lab:probe_249@1.0.0';
  const meet = () => makeNeighbour([], { tools: arriving(many) });
  const get = async (path: string) => (await ask(meet().httpApi, path)).json;

  test('are called by name at once', async () => {
    const { httpApi, forwarded } = meet();
    const { json } = await ask(httpApi, '/api/v1/tools/probe_249/invoke', { body: {} });
    expect([json.status, forwarded.length]).toEqual(['success', 1]);
  });

  test('are all in the first list, search and description', async () => {
    expect((await get('/api/v1/tools?limit=1')).total).toBe(many.length);
    expect((await get('/api/v1/tools?q=probe+tank+249')).tools[0]).toMatchObject({ id: last });
    expect(await get('/api/v1/tools/probe_249')).toMatchObject({ id: last });
  });

  test('are found, described and called by name at once over MCP', async () => {
    const client = async () => modernClient(meet().httpApi);
    expect(await resultOf(await client(), 'search_tools', { query: 'probe tank 249' })).toMatchObject({
      tools: [{ name: 'probe_249' }],
    });
    expect(await resultOf(await client(), 'describe_tool', { names: ['probe_249'] })).toMatchObject({ tools: [{ name: 'probe_249' }] });
    expect(await resultOf(await client(), 'read_tool', { name: 'probe_249' })).toMatchObject({ content: [{ text: 'seen' }] });
  });

  test('are waited for no longer than the call may take, and are not said to be none', async () => {
    const { httpApi, clock } = meet();
    const asked = ask(httpApi, '/api/v1/tools/probe_249/invoke?timeout_ms=50', { body: {} });
    await settled();
    clock.advance(50);
    const { json } = await asked;
    expect(json.error).toMatchObject({ code: 'NODE_UNAVAILABLE', details: { hubs: ['hub-2'] } });
    expect(json.error.message).toMatch(/the tools of attic \(hub-2\) are still being read/);
  });

  test('delay no call of a tool of this hub', async () => {
    const tools = arriving(many);
    const { httpApi, addTool } = makeNeighbour([], { tools });
    addTool({ namespace: 'lab', name: 'look' });
    expect((await ask(httpApi, '/api/v1/tools/look/invoke', { body: {} })).json.status).toBe('success');
    expect(tools.incompleteHubs()).toHaveLength(1);
  });
});

describe('tools of other hubs', () => {
  test('stand in the list with the hubs that have them, and are told one by one', async () => {
    const { httpApi, addTool } = makeNeighbour([watch]);
    addTool({ namespace: 'lab', name: 'look' });
    const { json } = await ask(httpApi, '/api/v1/tools');
    expect(json.tools).toMatchObject([{ id: 'eye:watch@1.0.0', nodes: ['hub-2'] }, { id: 'lab:look@1.0.0' }]);
    expect(json.tools[1].nodes).toBeUndefined();
    expect((await ask(httpApi, '/api/v1/tools/watch')).json).toMatchObject({ nodes: ['hub-2'], description: 'Watches the birds' });
  });

  test('are shown only to whoever may call them', async () => {
    const { httpApi } = makeNeighbour([watch]);
    expect((await ask(httpApi, '/api/v1/tools', { token: AGENT_TOKEN })).json.tools).toEqual([]);
    expect((await ask(httpApi, '/api/v1/tools/watch', { token: AGENT_TOKEN })).status).toBe(404);
  });

  describe('bring what their hub has to a search:', () => {
    const ofLamp = { device: 'attic-lamp', area: 'Attic' };
    const lampOn = toolOf(['hub-2'], {
      namespace: 'matter',
      name: 'attic_lamp_turn_on',
      description: 'Turns on "Attic lamp"',
      requires: { permissions: ['device:control:attic-lamp'] },
      metadata: { title: 'Turn on', category: 'acting', ...ofLamp },
    });
    const warmth = toolOf(['hub-2'], {
      namespace: 'matter',
      name: 'attic_lamp_get_temperature',
      description: 'Tells the temperature that "Attic lamp" measures.',
      requires: { permissions: ['device:read:attic-lamp'] },
      execution: { side_effects: false },
      metadata: { title: 'Read temperature', category: 'sensing', ...ofLamp },
    });
    const house = () => {
      const setup = makeNeighbour([lampOn, warmth]);
      setup.directory.devices = [makeDevice('hall-lamp', { name: 'Hall lamp', area: 'Hall' })];
      setup.readings.readings = [makeReading('hall-lamp/temperature', 21, setup.clock.now())];
      return setup;
    };
    const found = async (query: string, token?: string) =>
      (await ask(house().httpApi, `/api/v1/tools?q=${query}`, token === undefined ? {} : { token })).json;

    test('devices and areas, with the hub', async () => {
      const { devices, areas } = await found('the+lamp+in+the+attic');
      expect(devices[0]).toMatchObject({ id: 'attic-lamp', name: 'Attic lamp', area: 'Attic', node: 'hub-2' });
      expect(areas[0]).toMatchObject({ id: 'attic', name: 'Attic', node: 'hub-2' });
      const own = await found('the+lamp+in+the+hall');
      expect([own.devices[0].id, own.areas[0].id]).toEqual(['hall-lamp', 'hall']);
      expect([own.devices[0], own.areas[0]].some((thing) => 'node' in thing)).toBe(false);
    });

    test('readings by the tools that read them', async () => {
      const { tools, readings } = await found('what+is+the+temperature+in+the+attic');
      expect(tools[0]).toMatchObject({ id: 'matter:attic_lamp_get_temperature@1.0.0', nodes: ['hub-2'] });
      expect(readings.map(({ id }: { id: string }) => id)).not.toContain('attic-lamp/temperature');
    });

    test('nothing that the caller may not know of', async () => {
      expect(JSON.stringify(await found('the+lamp+in+the+attic', AGENT_TOKEN))).not.toMatch(/attic-lamp|hub-2/);
    });

    test('that of one hub alone where it is named', async () => {
      const idsOf = ({ devices, readings }: Awaited<ReturnType<typeof found>>) => [...devices, ...readings].map(({ id }) => id);
      expect(idsOf(await found('lamp+temperature&node=attic'))).toEqual(['attic-lamp']);
      expect(idsOf(await found('lamp+temperature&node=cellar')).toSorted()).toEqual(['hall-lamp', 'hall-lamp/temperature']);
    });
  });

  test('are found by a sentence, in the list and by discover', async () => {
    const { httpApi, addTool } = makeNeighbour([watch]);
    addTool({ namespace: 'lab', name: 'look', description: 'Looks at the sea' });
    const found = [expect.objectContaining({ id: 'eye:watch@1.0.0', nodes: ['hub-2'], score: expect.any(Number) })];
    expect((await ask(httpApi, '/api/v1/tools?q=birds')).json.tools).toEqual(found);
    expect((await ask(httpApi, '/api/v1/tools/discover', { body: { query: 'watch the birds', limit: 1 } })).json.tools).toEqual(found);
    const here = { query: 'watch the birds', node: 'hub-1' };
    expect((await ask(httpApi, '/api/v1/tools/discover', { body: here })).json.tools).toEqual([]);
    for (const body of [
      { query: 'x', limit: 0 },
      { query: 'x', place: 'y' },
      { query: 'x', category: 'flying' },
      { query: 'x', node: 1 },
    ]) {
      expect((await ask(httpApi, '/api/v1/tools/discover', { body })).status).toBe(400);
    }
  });

  test('of one hub alone are listed by its id or name', async () => {
    const { httpApi, addTool } = makeNeighbour([watch, toolOf(['hub-2'], { namespace: 'lab', name: 'look' })]);
    addTool({ namespace: 'lab', name: 'look' });
    const idsOf = async (node: string) =>
      (await ask(httpApi, `/api/v1/tools?node=${node}`)).json.tools.map(({ id, nodes }: { id: string; nodes?: string[] }) => [
        id,
        nodes?.[0],
      ]);
    expect(await idsOf('attic')).toEqual([
      ['eye:watch@1.0.0', 'hub-2'],
      ['lab:look@1.0.0', 'hub-2'],
    ]);
    expect(await idsOf('cellar')).toEqual([['lab:look@1.0.0', undefined]]);
    expect((await ask(httpApi, '/api/v1/tools?node=moon')).status).toBe(404);
    expect((await ask(httpApi, '/api/v1/tools/look?node=hub-2')).json.nodes).toEqual(['hub-2']);
  });

  test('of a device of another hub are listed by its name', async () => {
    const { httpApi } = makeNeighbour([watch, toolOf(['hub-2'], { name: 'on', metadata: { device: 'attic-lamp' } })]);
    const idsOf = async (query: string) =>
      (await ask(httpApi, `/api/v1/tools?device=${query}`)).json.tools?.map(({ id }: { id: string }) => id);
    expect(await idsOf('attic%20LAMP')).toEqual(['core:on@1.0.0']);
    expect((await ask(httpApi, '/api/v1/tools?device=attic-lamp', { token: AGENT_TOKEN })).status).toBe(404);
  });
});

describe('calls', () => {
  test('go where the query or the header X-Hub wants them', async () => {
    const { httpApi, addTool, forwarded } = makeNeighbour([watch]);
    addTool({ namespace: 'lab', name: 'look' });
    const nodeOf = async (query: string, headers = {}) =>
      (await ask(httpApi, `/api/v1/tools/look/invoke${query}`, { body: {}, headers })).json.execution.node_id;
    expect(await nodeOf('')).toBe('hub-1');
    expect(await nodeOf('?exclude_nodes=hub-1')).toBe('hub-2');
    expect(await nodeOf('?prefer_nodes=hub-2&hop_limit=0')).toBe('hub-1');
    expect(await nodeOf('?only_nodes=hub-1', { 'x-hub': 'hub-2' })).toBe('hub-1');
    expect((await ask(httpApi, '/api/v1/tools/watch/invoke', { body: {} })).json).toMatchObject({
      status: 'success',
      result: 'seen',
      execution: { node_id: 'hub-2', hops: 1 },
    });
    expect((await ask(httpApi, '/api/v1/tools/watch/invoke?hop_limit=0', { body: {} })).json.error.code).toBe('NO_CAPABLE_NODE');
    expect((await ask(httpApi, '/api/v1/tools/watch/invoke?only_nodes=hub-1', { body: {} })).status).toBe(404);
    expect((await ask(httpApi, '/api/v1/tools/watch/invoke', { body: {}, headers: { 'x-hub': 'hub-9' } })).status).toBe(404);
    expect((await ask(httpApi, '/api/v1/tools/watch/invoke', { body: {}, headers: { 'x-hub': ',' } })).status).toBe(400);
    expect(forwarded).toHaveLength(2);
  });

  test('take their trace along', async () => {
    const { httpApi, forwarded } = makeNeighbour([watch]);
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    await ask(httpApi, '/api/v1/tools/watch/invoke', { body: {}, headers: { traceparent } });
    expect(forwarded[0]?.traceId).toBe('0af7651916cd43dd8448eb211c80319c');
  });

  test('of administration act on the hub that X-Hub names', async () => {
    const rules = toolOf(['hub-2'], { namespace: 'hub', name: 'list_rules' });
    const { httpApi, forwarded } = makeNeighbour([rules]);
    expect((await ask(httpApi, '/api/v1/rules', { headers: { 'x-hub': 'hub-2' } })).json).toBe('seen');
    expect(forwarded).toHaveLength(1);
  });
});

describe('GET /api/v1/mesh', () => {
  test('tells membership and peers, each with its id', async () => {
    const { httpApi, addTool } = makeHttpApi();
    const peers = [
      { hub_id: 'hub-2', name: 'attic', reachable: true },
      { hub_id: 'hub-3', name: 'shed', reachable: false },
    ];
    addTool({ namespace: 'hub', name: 'mesh_status', handler: async () => ({ state: 'member', mesh_id: 'mesh-1' }) });
    addTool({ namespace: 'hub', name: 'mesh_peers', handler: async () => peers });
    expect((await ask(httpApi, '/api/v1/mesh')).json).toEqual({
      state: 'member',
      mesh_id: 'mesh-1',
      peers: [
        { id: 'hub-2', name: 'attic', reachable: true },
        { id: 'hub-3', name: 'shed', reachable: false },
      ],
    });
    expect((await ask(httpApi, '/api/v1/mesh?reachable=false')).json.peers).toMatchObject([{ id: 'hub-3' }]);
  });

  test('needs the permission of the tools that it asks', async () => {
    const { httpApi, addTool } = makeHttpApi();
    for (const name of ['mesh_status', 'mesh_peers']) addTool({ namespace: 'hub', name, requires: { permissions: ['mesh:read'] } });
    expect((await ask(httpApi, '/api/v1/mesh', { token: AGENT_TOKEN })).status).toBe(404);
  });
});

test.each([
  ['POST', '/api/v1/mesh/create', 'mesh_create', { passphrase: 'p' }, { passphrase: 'p' }, 201],
  ['POST', '/api/v1/mesh/invites', 'mesh_invite', { ttl_seconds: 60 }, { ttl_seconds: 60 }, 201],
  ['POST', '/api/v1/mesh/join', 'mesh_join', { invite: 'i' }, { invite: 'i' }, 200],
  ['POST', '/api/v1/mesh/leave', 'mesh_leave', {}, {}, 200],
  ['POST', '/api/v1/mesh/renew', 'mesh_renew', {}, {}, 200],
  ['DELETE', '/api/v1/mesh/peers/hub-2', 'mesh_revoke', undefined, { hub: 'hub-2' }, 200],
  ['POST', '/api/v1/mesh/peers/hub-2/revoke', 'mesh_revoke', { passphrase: 'p' }, { hub: 'hub-2', passphrase: 'p' }, 200],
  ['POST', '/api/v1/mesh/peers/hub-2/delegate', 'mesh_delegate', { passphrase: 'p' }, { hub: 'hub-2', passphrase: 'p' }, 200],
  ['POST', '/api/v1/mesh/root/export', 'mesh_export_root', { passphrase: 'p' }, { passphrase: 'p' }, 200],
  ['POST', '/api/v1/mesh/root/import', 'mesh_import_root', { root_key: 'r', passphrase: 'p' }, { root_key: 'r', passphrase: 'p' }, 200],
] as const)('%s %s is the call of hub:%s', async (method, path, name, body, params, status) => {
  const { httpApi, addTool } = makeHttpApi();
  const seen: unknown[] = [];
  addTool({ namespace: 'hub', name, parameters: { type: 'object' }, handler: async (given) => seen.push(given) });
  const answer = await ask(httpApi, path, { method, ...(body && { body }) });
  expect([answer.status, seen]).toEqual([status, [params]]);
});

describe('GET /api/v1/events?hub=', () => {
  /** Reads the stream to its end. */
  const textOf = async (path: string, subscribe: MeshPorts['events']['subscribe']) =>
    (await ask(makeNeighbour([], { events: { subscribe } }).httpApi, path)).text;
  const tell = (listener: EventListener, type: EventType) =>
    listener({ specversion: '1.0', id: 'e1', source: 'attic', type, subject: 'lamp', time: '', data: {} });

  test('tells what the other hub tells, of the types that were asked for', async () => {
    const asked: [string, RemoteSubscription][] = [];
    const text = await textOf('/api/v1/events?hub=attic&types=device.*', async (hub, subscription, listener) => {
      asked.push([hub, subscription]);
      tell(listener, 'device.added');
      subscription.onGap?.();
    });
    expect(text).toContain('id: e1\nevent: device.added\ndata: {"specversion":"1.0"');
    expect(text).toContain('event: gap\n');
    expect(asked).toMatchObject([['hub-2', { principal: { id: 'owner' } }]]);
    expect(asked[0]?.[1].types).toEqual(['device.added', 'device.removed', 'device.changed', 'device.reachability', 'device.event']);
  });

  test('ends with the reason when the hub is lost', async () => {
    const text = await textOf('/api/v1/events?hub=hub-2', async () => {
      throw new AtmoError('NODE_UNAVAILABLE', 'attic cannot be reached');
    });
    expect(text).toContain('event: error\ndata: {"code":"NODE_UNAVAILABLE","message":"attic cannot be reached"');
  });

  test('knows only hubs of the mesh', async () => {
    expect((await ask(makeNeighbour([]).httpApi, '/api/v1/events?hub=moon')).status).toBe(404);
  });

  test('ends the subscription when the listener goes away', async () => {
    const ended = Promise.withResolvers<boolean>();
    const { httpApi } = makeNeighbour([], {
      events: {
        subscribe: (_hub, { signal }) =>
          new Promise((resolve) => {
            signal.addEventListener('abort', () => {
              ended.resolve(true);
              resolve();
            });
          }),
      },
    });
    const headers = { host: '127.0.0.1:8081', authorization: 'Bearer owner-secret' };
    const response = await httpApi.app.request('http://127.0.0.1:8081/api/v1/events?hub=attic', { headers });
    await response.body?.cancel();
    expect(await ended.promise).toBe(true);
  });
});

test('GET /api/v1/jobs/{id} asks the hub that runs the job', async () => {
  const job = { job_id: 'j1', tool: 'eye:watch@1.0.0', status: 'running', created_at: '2026-01-01T00:00:00Z' } as const;
  const asked: string[] = [];
  const jobs = {
    get: () => Promise.reject(new Error('asked here')) as never,
    list: () => [],
    listElsewhere: async () => ({ jobs: [], unreachable: [] }),
    status: async (id: string) => {
      asked.push(`status ${id}`);
      return job as never;
    },
    cancel: async (id: string) => {
      asked.push(`cancel ${id}`);
      return job as never;
    },
  };
  const { httpApi } = makeHttpApi({ jobs });
  expect((await ask(httpApi, '/api/v1/jobs/j1')).json).toEqual(job);
  expect((await ask(httpApi, '/api/v1/jobs/j1', { method: 'DELETE' })).json).toEqual(job);
  expect(asked).toEqual(['status j1', 'cancel j1']);
});

test('GET /metrics tells of the other hubs and of what was dropped', async () => {
  const { tools } = new MeshProxy(() => undefined);
  const ports = { tools, view: { meshId: 'mesh-1', peers: () => [ATTIC] }, events: { subscribe: async () => {} } };
  const { httpApi, metrics } = makeHttpApi({ mesh: ports, meshDrops: () => ({ forged: 3, flood: 7 }) }, { port: 0 });
  await httpApi.start();
  try {
    const text = metrics.text();
    for (const line of [
      'atmo_mesh_member 1',
      'atmo_mesh_peers{state="fresh"} 1',
      'atmo_mesh_peers_reachable 1',
      'atmo_mesh_round_trip_seconds{peer="hub-2"} 0.002',
      'atmo_mesh_tools{peer="hub-2"} 1',
      'atmo_mesh_dropped_total{reason="forged"} 3',
      'atmo_mesh_dropped_total{reason="flood"} 7',
    ]) {
      expect(text).toContain(`${line}\n`);
    }
  } finally {
    await httpApi[Symbol.asyncDispose]();
  }
});
