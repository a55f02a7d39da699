import { describe, expect, test } from 'vitest';
import { silentLogger } from '../../../../src/core/logger.ts';
import { offeredDefinition } from '../../../../src/mesh/gossip/announce/offered-definition.ts';
import { DefinitionBook } from '../../../../src/mesh/gossip/catalogue/definition-book.ts';
import { MeshCatalogue } from '../../../../src/mesh/gossip/catalogue/mesh-catalogue.ts';
import { DropCounter } from '../../../../src/mesh/gossip/drop-counter.ts';
import { BlobStore, blobOf } from '../../../../src/mesh/gossip/exchange/blob-store.ts';
import type { HubDirectory, KnownHub } from '../../../../src/mesh/gossip/hubs/known-hub.ts';
import type { RegisteredTool } from '../../../../src/tools/definition/tool-definition.ts';
import { SchemaValidator } from '../../../../src/tools/schema/schema-validator.ts';
import { LexicalToolSearch } from '../../../../src/tools/search/lexical-tool-search.ts';
import { filterTools } from '../../../../src/tools/tool-filter.ts';
import { makeTool } from '../../../tools/tool-room.ts';

type Hubs = Readonly<Record<string, readonly RegisteredTool[]>>;

/** A catalogue over hubs that have announced these tools and delivered their definitions. */
function makeCatalogue(hubs: Hubs, { withDefinitions = true, state = 'fresh' as KnownHub['state'] } = {}) {
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
    for (const { definition } of Object.values(hubs).flat()) blobs.add(offeredDefinition(definition).blob);
  };
  if (withDefinitions) deliver();
  const definitions = new DefinitionBook({ blobs, validator: new SchemaValidator(), drops, logger: silentLogger });
  return { catalogue: new MeshCatalogue({ directory, definitions }), deliver, drops, blobs, known };
}

function hubWith(id: string, tools: readonly RegisteredTool[], state: KnownHub['state']): KnownHub {
  const devices = [{ id: 'light-1', name: `Light of ${id}`, type: 'light', isReachable: id !== 'hub-b' }];
  const announced = tools.map((tool) => ({ id: tool.id as string, hash: offeredDefinition(tool.definition).hash }));
  const words = { name: id.toUpperCase(), version: '1', addresses: [], links: [], capabilities: [], features: [], lastSeenMs: 0, epoch: 1 };
  return { id: id as KnownHub['id'], state, tools: announced, devices, ...words };
}

const notify = () => makeTool({ name: 'send_push', description: 'Sends a notification to the phone', category: 'communicating' });
const ofDevice = (description = 'Turns the light on') =>
  makeTool({ namespace: 'matter', name: 'light_turn_on', description, metadata: { device: 'light-1' } });

describe('MeshCatalogue', () => {
  test('makes one tool of equal ones that belong to no device, and names the hubs that have it', () => {
    const { catalogue } = makeCatalogue({ 'hub-a': [notify()], 'hub-b': [notify()] });
    expect(catalogue.all().map(({ id }) => id)).toEqual(['core:send_push@1.0.0']);
    expect(catalogue.all()[0]?.hubs?.()).toEqual(['hub-a', 'hub-b']);
    expect(catalogue.resolve('send_push', {})).toBe(catalogue.all()[0]);
    expect(catalogue.hubsWith('core:send_push@1.0.0')).toEqual(['hub-a', 'hub-b']);
  });

  test('keeps tools of devices apart, and asks which hub is meant', () => {
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

  test('shows nothing of hubs that are gone', () => {
    const { catalogue } = makeCatalogue({ 'hub-a': [notify()] }, { state: 'gone' });
    expect([catalogue.all(), catalogue.resolve('send_push', {}), catalogue.hubsWithDevice('light-1')]).toEqual([[], undefined, []]);
  });

  test('finds hubs by their devices', () => {
    const { catalogue } = makeCatalogue({ 'hub-a': [], 'hub-b': [] });
    expect(catalogue.hubsWithDevice('light-1')).toEqual(['hub-a', 'hub-b']);
    expect(catalogue.hubsWithDevice('Light of hub-b')).toEqual(['hub-b']);
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
