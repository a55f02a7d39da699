import { describe, expect, test } from 'vitest';
import { silentLogger } from '../../../src/core/logger.ts';
import { BlobStore, blobOf } from '../../../src/mesh/gossip/blob-store.ts';
import { DefinitionStore, offeredDefinition } from '../../../src/mesh/gossip/definition-store.ts';
import { DropCounter } from '../../../src/mesh/gossip/gossip-limits.ts';
import type { HubDirectory, KnownHub } from '../../../src/mesh/gossip/known-hub.ts';
import { MeshCatalogue } from '../../../src/mesh/gossip/mesh-catalogue.ts';
import type { Sites } from '../../../src/mesh/sites/sites.ts';
import type { RegisteredTool } from '../../../src/tools/definition/tool-definition.ts';
import { mayCallTool } from '../../../src/tools/definition/tool-permissions.ts';
import { filterTools } from '../../../src/tools/registry/tool-registry.ts';
import { SchemaValidator } from '../../../src/tools/schema/schema-validator.ts';
import { LexicalToolSearch } from '../../../src/tools/search/tool-search.ts';
import { agent, listAuthorizer, makeTool, owner } from '../../calls/pipeline-fixture.ts';
import { ManualClock } from '../../manual-clock.ts';

type Hubs = Readonly<Record<string, readonly RegisteredTool[]>>;

interface CatalogueOptions {
  readonly withDefinitions?: boolean;
  readonly state?: KnownHub['state'];
  readonly isPaced?: boolean;
  readonly sites?: Pick<Sites, 'siteOf' | 'look'>;
}

/** A catalogue over hubs that have announced these tools and delivered their definitions. */
function makeCatalogue(
  hubs: Hubs,
  { withDefinitions = true, state = 'fresh' as KnownHub['state'], isPaced = false, sites }: CatalogueOptions = {},
) {
  const clock = new ManualClock();
  const blobs = new BlobStore();
  const drops = new DropCounter();
  const known = Object.entries(hubs).map(([id, tools]) => hubWith(id, tools, state));
  const listeners = new Set<Parameters<HubDirectory['onChange']>[0]>();
  const directory: HubDirectory = {
    hubs: () => known,
    hub: (id) => known.find((hub) => hub.id === id),
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const deliver = () => {
    for (const tool of Object.values(hubs).flat()) blobs.add(offeredDefinition(tool).blob);
  };
  if (withDefinitions) deliver();
  const turns = { clock, onNext: (): void => catalogue.readSome() };
  const parts = { blobs, validator: new SchemaValidator(), drops, logger: silentLogger };
  const definitions = new DefinitionStore({ ...parts, ...(isPaced && { turns }) });
  const catalogue = new MeshCatalogue({ directory, definitions, clock, sites });
  return { catalogue, clock, deliver, drops, blobs, known };
}

function hubWith(id: string, tools: readonly RegisteredTool[], state: KnownHub['state']): KnownHub {
  const devices = [{ id: 'light-1', name: `Light of ${id}`, type: 'light', isReachable: id !== 'hub-b' }];
  const announced = tools.map((tool) => ({ id: tool.id as string, hash: offeredDefinition(tool).hash }));
  const words = { name: id.toUpperCase(), version: '1', addresses: [], links: [], capabilities: [], features: [], lastSeenMs: 0, epoch: 1 };
  return { id: id as KnownHub['id'], state, tools: announced, devices, ...words };
}

const ACTS = { execution: { side_effects: true }, requires: { permissions: ['probe:use'] } };
const notify = () => makeTool({ name: 'send_push', description: 'Sends a notification to the phone', category: 'communicating', ...ACTS });
const ofDevice = (description = 'Turns the light on') =>
  makeTool({ namespace: 'matter', name: 'light_turn_on', description, metadata: { device: 'light-1' }, ...ACTS });
const reader = () => makeTool({ name: 'read_meter', description: 'Reads the meter of the house' });

describe('MeshCatalogue', () => {
  test('makes one tool of equal ones that belong to no device, and names the hubs that have it', () => {
    const { catalogue } = makeCatalogue({ 'hub-a': [notify()], 'hub-b': [notify()] });
    expect(catalogue.all().map(({ id }) => id)).toEqual(['core:send_push@1.0.0']);
    expect(catalogue.all()[0]?.hubs?.()).toEqual(['hub-a', 'hub-b']);
    expect(catalogue.resolve('send_push', {})).toBe(catalogue.all()[0]);
    expect(catalogue.hubsWith('core:send_push@1.0.0')).toEqual(['hub-a', 'hub-b']);
  });

  test('keeps tools of devices apart, and rejects their common name as ambiguous', () => {
    const { catalogue } = makeCatalogue({ 'hub-a': [ofDevice()], 'hub-b': [ofDevice()] });
    expect(catalogue.all()).toHaveLength(2);
    const candidates = [
      { id: 'matter:light_turn_on@1.0.0', node: 'hub-a' },
      { id: 'matter:light_turn_on@1.0.0', node: 'hub-b' },
    ];
    expect(() => catalogue.resolve('light_turn_on', {})).toThrow(
      expect.objectContaining({ code: 'AMBIGUOUS_TOOL', details: { candidates } }),
    );
    expect(catalogue.resolve('light_turn_on', { onlyNodes: ['HUB-B'] })?.hubs?.()).toEqual(['hub-b']);
    expect(catalogue.resolve('light_turn_on', { onlyNodes: ['hub-a'] })?.isAvailable?.()).toBe(true);
    expect(catalogue.resolve('light_turn_on', { onlyNodes: ['hub-b'] })?.isAvailable?.()).toBe(false);
  });

  test('takes the newest of several versions of one tool that hubs have, and a pre-release only if there is nothing else', () => {
    const version = (number: string, extra = {}) => makeTool({ namespace: 'lab', name: 'analyse', version: number, ...extra });
    const { catalogue } = makeCatalogue({ 'hub-a': [version('1.2.0')], 'hub-b': [version('1.10.0')], 'hub-c': [version('2.0.0-rc.1')] });
    expect(catalogue.resolve('analyse', {})?.id).toBe('lab:analyse@1.10.0');
    expect(catalogue.resolve('lab:analyse@1.2.0', {})?.hubs?.()).toEqual(['hub-a']);
    const different = makeCatalogue({ 'hub-a': [version('1.0.0')], 'hub-b': [version('1.0.0', { description: 'Another' })] }).catalogue;
    expect(() => different.resolve('analyse', {})).toThrow(expect.objectContaining({ code: 'AMBIGUOUS_TOOL' }));
    const byAgent = version('9.0.0', { metadata: { created_by: 'agent' } });
    const captured = makeCatalogue({ 'hub-a': [version('1.0.0')], 'hub-b': [byAgent] }).catalogue;
    expect(() => captured.resolve('analyse', {})).toThrow(expect.objectContaining({ code: 'AMBIGUOUS_TOOL' }));
  });

  describe('of names that the tool of a device had before', () => {
    const renamed = (...aliases: string[]) => ({
      ...makeTool({ namespace: 'matter', name: 'hall_turn_on', metadata: { device: 'light-1' } }),
      aliases,
    });

    test('resolves each of them, with its namespace and version too', () => {
      const { catalogue } = makeCatalogue({ 'hub-a': [renamed('attic_turn_on', 'attic_on')] });
      for (const name of ['attic_turn_on', 'attic_on', 'matter:attic_turn_on', 'matter:attic_turn_on@1.0.0', 'attic_turn_on@^1.0.0']) {
        expect(catalogue.resolve(name, {})?.id, name).toBe('matter:hall_turn_on@1.0.0');
      }
      expect(catalogue.resolve('attic_turn_on', { onlyNodes: ['HUB-A'] })?.hubs?.()).toEqual(['hub-a']);
      for (const name of ['core:attic_turn_on', 'attic_turn_on@2.0.0', 'attic']) expect(catalogue.resolve(name, {}), name).toBeUndefined();
      expect(catalogue.resolve('attic_turn_on', { isVisible: () => false })).toBeUndefined();
    });

    test('rejects a name as ambiguous when another hub has a tool with it', () => {
      const { catalogue } = makeCatalogue({ 'hub-a': [renamed('light_turn_on')], 'hub-b': [ofDevice()] });
      expect(() => catalogue.resolve('light_turn_on', {})).toThrow(expect.objectContaining({ code: 'AMBIGUOUS_TOOL' }));
      expect(catalogue.resolve('light_turn_on', { onlyNodes: ['hub-a'] })?.id).toBe('matter:hall_turn_on@1.0.0');
    });

    test('prefers the present names of a hub to its former ones', () => {
      const { catalogue } = makeCatalogue({ 'hub-a': [renamed('light_turn_on'), ofDevice()] });
      expect(catalogue.resolve('light_turn_on', {})?.id).toBe('matter:light_turn_on@1.0.0');
    });

    test('names the hub that stopped', () => {
      const { catalogue } = makeCatalogue({ 'hub-a': [renamed('attic_turn_on')] }, { state: 'left' });
      expect(catalogue.departedHubs('attic_turn_on', {})).toEqual([{ id: 'hub-a', name: 'HUB-A' }]);
    });
  });

  test('gives models a name for each tool that means that tool only', () => {
    const { catalogue } = makeCatalogue({ 'hub-a': [ofDevice(), notify()], 'hub-b': [ofDevice()] });
    const names = catalogue.all().map((tool) => catalogue.modelName(tool));
    expect(new Set(names).size).toBe(3);
    expect(names.every((name) => /^[a-z0-9_]{1,40}$/.test(name))).toBe(true);
    expect(names.map((name) => catalogue.resolve(name, {}))).toEqual(catalogue.all());
  });

  test('lets no names of one hub change what the names of another mean', () => {
    const honest = [makeTool({ namespace: 'camera', name: 'snap' }), ofDevice()];
    const hostile = [
      makeTool({ name: 'snap' }),
      makeTool({ namespace: 'camera', name: 'snap', version: '9.0.0' }),
      makeTool({ namespace: 'x', name: 'Light.Turn.On' }),
    ];
    const alone = makeCatalogue({ 'hub-a': honest }).catalogue;
    const { catalogue } = makeCatalogue({ 'hub-a': honest, 'hub-evil': hostile });
    for (const name of ['snap', 'camera:snap', 'light_turn_on', ...alone.all().map((tool) => alone.modelName(tool))]) {
      const meant = catalogue.resolve(name, { onlyNodes: ['hub-a'] });
      expect(meant?.id).toBe(alone.resolve(name, {})?.id);
      expect(meant?.hubs?.()).toEqual(['hub-a']);
    }
  });

  describe('of a member that announces tools of devices that are not its own', () => {
    const lampAgent = agent('device:read:living-room-lamp', 'device:control:living-room-lamp');
    const acting = { side_effects: true };
    const matter = (name: string, device: string | undefined, permissions: readonly string[], execution = {}) =>
      makeTool({ namespace: 'matter', name, requires: { permissions }, execution, metadata: { ...(device && { device }) } });
    const unlock = matter('light_turn_on', 'light-1', ['device:control:light-1'], acting);

    test('takes none of them, so that a name means the hub with the device', () => {
      const copies = [matter('light_turn_on', 'other', []), matter('light_turn_on', undefined, [])];
      for (const copy of copies) {
        const { catalogue } = makeCatalogue({ 'hub-a': [unlock], 'hub-evil': [copy] });
        expect(catalogue.resolve('light_turn_on', {})?.hubs?.()).toEqual(['hub-a']);
        expect(catalogue.resolve('matter:light_turn_on', {})?.hubs?.()).toEqual(['hub-a']);
      }
      const { catalogue } = makeCatalogue({ 'hub-evil': [matter('door_unlock', 'front-door', ['device:control:front-door'], acting)] });
      expect([catalogue.all(), catalogue.resolve('door_unlock', {})]).toEqual([[], undefined]);
    });

    test('accepts those of a hub that does not announce its devices', () => {
      const { catalogue, known } = makeCatalogue({ 'hub-a': [unlock], 'hub-b': [unlock] });
      known.splice(1, 1, { ...known[1], devices: [], hidesDevices: true } as KnownHub);
      expect(() => catalogue.resolve('light_turn_on', {})).toThrow(expect.objectContaining({ code: 'AMBIGUOUS_TOOL' }));
    });

    test.each([
      ['nothing', 'light-1', []],
      ['less than their effects need', 'light-1', ['device:read:light-1']],
      ['another device', 'light-1', ['device:control:living-room-lamp']],
      ['something else', 'light-1', ['net:read']],
      ['nothing of any device', undefined, ['device:control:living-room-lamp']],
    ])('shows no agent a tool whose announced permissions name %s', (_what, device, permissions) => {
      const execution = { side_effects: permissions.length > 0 };
      const { catalogue } = makeCatalogue({ 'hub-evil': [matter('front_door_unlock', device, permissions, execution)] });
      const [tool] = catalogue.all();
      expect(tool).toBeDefined();
      expect(tool && mayCallTool(tool, lampAgent, listAuthorizer)).toBe(false);
      expect(tool && mayCallTool(tool, agent('*'), listAuthorizer)).toBe(false);
      expect(tool && mayCallTool(tool, owner, listAuthorizer)).toBe(true);
    });

    test("leaves the permissions of a device's tool unchanged", () => {
      const reading = matter('light_get', 'light-1', ['device:read:light-1']);
      const { catalogue } = makeCatalogue({ 'hub-a': [unlock, reading] });
      expect(catalogue.all().map(({ definition }) => definition.requires.permissions)).toEqual([
        ['device:read:light-1'],
        ['device:control:light-1'],
      ]);
    });
  });

  test('follows the devices that a hub announces', () => {
    const { catalogue, known } = makeCatalogue({ 'hub-a': [ofDevice()] });
    expect(catalogue.resolve('light_turn_on', {})).toBeDefined();
    known.splice(0, 1, { ...known[0], devices: [] } as unknown as KnownHub);
    expect(catalogue.resolve('light_turn_on', {})).toBeUndefined();
  });

  test('reads definitions once they are here', () => {
    const { catalogue, deliver } = makeCatalogue({ 'hub-a': [notify()] }, { withDefinitions: false });
    expect(catalogue.all()).toEqual([]);
    expect(catalogue.hubsWith('core:send_push@1.0.0')).toEqual(['hub-a']);
    let changes = 0;
    catalogue.onChange(() => changes++);
    deliver();
    catalogue.refresh();
    expect(catalogue.all()).toHaveLength(1);
    expect(changes).toBe(1);
  });

  describe('while the definitions of a hub are read', () => {
    const many = Array.from({ length: 150 }, (_, index) =>
      makeTool({ namespace: 'lab', name: `probe_${index}`, description: `Probes ${index} `.repeat(120) }),
    );
    const last = 'lab:probe_149@1.0.0';

    test('reports that it is incomplete, and resolves when it is complete', async () => {
      const { catalogue, clock } = makeCatalogue({ 'hub-a': many, 'hub-b': [notify()] }, { isPaced: true });
      const whole = catalogue.awaitComplete();
      expect(whole).toBeInstanceOf(Promise);
      expect(catalogue.all().length).toBeLessThan(many.length);
      expect(catalogue.incompleteHubs()).toEqual([{ id: 'hub-a', name: 'HUB-A' }]);
      expect(catalogue.awaitComplete(['hub-b'])).toBeUndefined();
      while (catalogue.incompleteHubs().length > 0) clock.advance(20);
      await whole;
      expect([catalogue.resolve(last, {})?.id, catalogue.all().length, catalogue.awaitComplete()]).toEqual([
        last,
        many.length + 1,
        undefined,
      ]);
    });

    test('continues to read without a request, and emits changes', () => {
      const { catalogue, clock, deliver } = makeCatalogue({ 'hub-a': many }, { isPaced: true, withDefinitions: false });
      deliver();
      catalogue.refresh();
      let changes = 0;
      catalogue.onChange(() => changes++);
      clock.advance(1_000);
      expect(changes).toBe(1);
      expect(catalogue.all()).toHaveLength(many.length);
    });

    test('finds the tools of a hub that left in the same way', () => {
      const { catalogue, clock } = makeCatalogue({ 'hub-a': many }, { isPaced: true, state: 'left' });
      expect(catalogue.awaitComplete()).toBeInstanceOf(Promise);
      while (catalogue.incompleteHubs().length > 0) clock.advance(20);
      expect(catalogue.departedHubs(last, {})).toEqual([{ id: 'hub-a', name: 'HUB-A' }]);
    });

    test('waits for definitions and pages that have not arrived, ten seconds and no longer', async () => {
      const { catalogue, clock, known } = makeCatalogue({ 'hub-a': [notify()], 'hub-b': [] }, { isPaced: true, withDefinitions: false });
      known.splice(1, 1, { ...known[1], lacksPages: true } as KnownHub);
      const whole = catalogue.awaitComplete();
      expect(catalogue.incompleteHubs().map(({ id }) => id)).toEqual(['hub-a', 'hub-b']);
      clock.advance(10_000);
      await whole;
      expect([catalogue.incompleteHubs(), catalogue.awaitComplete()]).toEqual([[], undefined]);
    });

    test('does not wait for what it read and refused', () => {
      const bad = { ...notify(), definition: { ...notify().definition, description: '' } };
      const { catalogue } = makeCatalogue({ 'hub-a': [bad] }, { isPaced: true });
      expect([catalogue.awaitComplete(), catalogue.all()]).toEqual([undefined, []]);
    });
  });

  test('shows nothing of hubs that are gone', () => {
    const { catalogue } = makeCatalogue({ 'hub-a': [notify()] }, { state: 'gone' });
    expect([catalogue.all(), catalogue.resolve('send_push', {})]).toEqual([[], undefined]);
  });

  describe('of a site that has visited another one', () => {
    /** `hub-n` is of this site and `hub-s` of the site `south`. */
    function twoSites(hubs: Hubs, options: CatalogueOptions = {}) {
      const looked: string[][] = [];
      const look = async (words: readonly string[]) => {
        looked.push([...words]);
      };
      const siteOf = (id: string) => (id === 'hub-s' ? 'south' : undefined);
      const made = makeCatalogue(hubs, { ...options, sites: { siteOf, look } });
      const change = (id: string, changes: Partial<KnownHub>) => {
        const index = made.known.findIndex((hub) => hub.id === id);
        made.known.splice(index, 1, { ...made.known[index], ...changes } as KnownHub);
        made.catalogue.refresh();
      };
      return { ...made, looked, change };
    }

    test('makes no common tool of its own and of an equal one elsewhere', () => {
      const { catalogue } = twoSites({ 'hub-n': [notify()], 'hub-s': [notify()] });
      expect(catalogue.resolve('send_push', {})?.hubs?.()).toEqual(['hub-n']);
      expect(catalogue.resolve('send_push', { onlyNodes: ['hub-s'] })?.hubs?.()).toEqual(['hub-s']);
      expect(catalogue.all().map(({ hubs }) => hubs?.())).toEqual([['hub-n'], ['hub-s']]);
    });

    test('sends no call of a tool of this hub to a hub elsewhere', () => {
      const { catalogue, change } = twoSites({ 'hub-n': [notify()], 'hub-s': [notify()] });
      expect(catalogue.hubsWith('core:send_push@1.0.0')).toEqual(['hub-n']);
      change('hub-n', { state: 'gone' });
      expect(catalogue.hubsWith('core:send_push@1.0.0')).toEqual([]);
    });

    test.each([
      ['of no device', notify(), 'send_push'],
      ['of a device', ofDevice(), 'matter:light_turn_on'],
    ])('takes no tool %s elsewhere in place of one whose own hub is gone', (_which, tool, name) => {
      for (const state of ['gone', 'left'] as const) {
        const { catalogue, change } = twoSites({ 'hub-n': [tool], 'hub-s': [tool] });
        change('hub-n', { state });
        expect(catalogue.resolve(name, {})).toBeUndefined();
        expect(catalogue.departedHubs(name, {}).map(({ id }) => id)).toEqual(['hub-n']);
        expect(catalogue.resolve(name, { onlyNodes: ['hub-s'] })?.hubs?.()).toEqual(['hub-s']);
      }
    });

    test('looks in no other site for a tool whose own hub is gone', async () => {
      const { catalogue, looked, change } = twoSites({ 'hub-n': [notify()], 'hub-s': [] });
      change('hub-n', { state: 'gone' });
      expect(catalogue.awaitComplete(undefined, { name: 'send_push' })).toBeUndefined();
      await catalogue.awaitComplete(undefined, { name: 'sound_horn' });
      expect(looked).toEqual([['sound_horn']]);
    });

    test('takes no tool elsewhere while a hub of its own that may have it is read', () => {
      const { catalogue, clock, change } = twoSites({ 'hub-n': [], 'hub-s': [notify()] });
      change('hub-n', { lacksPages: true });
      expect(catalogue.resolve('send_push', {})).toBeUndefined();
      expect(catalogue.resolve('send_push', { onlyNodes: ['hub-s'] })?.hubs?.()).toEqual(['hub-s']);
      clock.advance(10_000);
      expect(() => catalogue.resolve('send_push', {})).toThrow('Of this site, no hub has "send_push"');
    });

    test('takes a tool without side effects that only hubs elsewhere have, until they are gone', () => {
      const { catalogue, change } = twoSites({ 'hub-n': [], 'hub-s': [reader()] });
      expect(catalogue.resolve('read_meter', {})?.hubs?.()).toEqual(['hub-s']);
      expect(catalogue.modelName(catalogue.all()[0] as RegisteredTool)).toBe('read_meter');
      change('hub-s', { state: 'gone' });
      expect(catalogue.resolve('read_meter', {})).toBeUndefined();
    });

    test.each([
      ['of no device', notify(), 'send_push'],
      ['of a device', ofDevice(), 'matter:light_turn_on'],
    ])('takes a tool %s elsewhere that has side effects only if its hub is named, or by the name for models', (_which, tool, name) => {
      const { catalogue } = twoSites({ 'hub-n': [], 'hub-s': [tool] });
      const [found] = catalogue.all() as [RegisteredTool];
      expect(() => catalogue.resolve(name, {})).toThrow(
        expect.objectContaining({ code: 'AMBIGUOUS_TOOL', details: { candidates: [{ id: found.id, node: 'hub-s' }] } }),
      );
      expect(() => catalogue.resolve(found.id, {})).toThrow('name the hub');
      expect(catalogue.resolve(name, { onlyNodes: ['hub-s'] })).toBe(found);
      expect(catalogue.modelName(found)).toMatch(/_[0-9a-f]{6}$/);
      expect(catalogue.resolve(catalogue.modelName(found), {})).toBe(found);
    });

    test('keeps the names that models have for its own tools', () => {
      const { catalogue } = twoSites({ 'hub-n': [notify(), ofDevice()], 'hub-s': [notify(), ofDevice()] });
      const names = catalogue.all().map((tool) => [tool.hubs?.()[0], catalogue.modelName(tool)] as const);
      const own = names.filter(([hub]) => hub === 'hub-n').map(([, name]) => name);
      expect(own).toEqual(['send_push', 'light_turn_on']);
      expect(new Set(names.map(([, name]) => name)).size).toBe(4);
      expect(names.map(([, name]) => catalogue.resolve(name, {}))).toEqual(catalogue.all());
    });
  });

  test('answers queries by capability, category and sentence', () => {
    const vision = makeTool({
      name: 'ocr',
      description: 'Reads text in a picture',
      category: 'sensing',
      requires: { capabilities: ['vision'] },
    });
    const { catalogue } = makeCatalogue({ 'hub-a': [notify()], 'hub-b': [vision] });
    expect(filterTools(catalogue.all(), { capability: 'vision' }).tools.map(({ id }) => id)).toEqual(['core:ocr@1.0.0']);
    expect(filterTools(catalogue.all(), { category: 'communicating' }).tools.map(({ id }) => id)).toEqual(['core:send_push@1.0.0']);
    const [best] = new LexicalToolSearch().search({ text: 'send an alert to the user' }, catalogue.all()).matches;
    expect(best?.tool.id).toBe('core:send_push@1.0.0');
  });

  test('leaves out what is no definition, and counts it', () => {
    const { catalogue, known, blobs, drops } = makeCatalogue({ 'hub-a': [notify()] });
    const bad = blobOf(new TextEncoder().encode('{"tool":{"name":"x"}}'));
    blobs.add(bad);
    const [hub] = known;
    const announced = [
      { id: 'core:x@1.0.0', hash: bad.sha256.slice(0, 16) },
      { id: 'core:other@1.0.0', hash: hub?.tools[0]?.hash ?? '' },
    ];
    if (hub) Object.assign(hub, { tools: announced });
    catalogue.refresh();
    expect(catalogue.all()).toEqual([]);
    expect(drops.counts().bad_definition).toBe(1);
  });
});
