import { describe, expect, test } from 'vitest';
import { stateDigest } from '../../../src/codec/messages/announced-state.ts';
import { NO_DEVICES } from '../../../src/core/devices/device-directory.ts';
import { ownState } from '../../../src/mesh/gossip/own-state.ts';
import { unconfigured } from '../../../src/tools/definition/tool-definition.ts';
import { ToolRegistry } from '../../../src/tools/registry/tool-registry.ts';
import { SchemaValidator } from '../../../src/tools/schema/schema-validator.ts';
import { makeTool } from '../../calls/pipeline-fixture.ts';

/** Ids of the tools that a hub with these tools of administration tells of. */
function toldOf(names: readonly string[]): readonly string[] {
  const registry = new ToolRegistry({ validator: new SchemaValidator() });
  for (const name of names) registry.register(makeTool({ namespace: 'hub', name, requires: { permissions: ['admin:approvals'] } }));
  const parts = { registry, devices: NO_DEVICES, capabilities: () => [], isOnline: () => true, links: () => [], addresses: () => [] };
  return ownState(parts, { name: 'cellar', version: '1.0.0', announcesDevices: true }).state.tools.map(({ id }) => id);
}

describe('the tools that a hub tells of', () => {
  test('are of its administration those alone with which people agree to calls from elsewhere', () => {
    expect(toldOf(['enroll_approver', 'remove_approver', 'mint_token'])).toEqual([]);
    expect([...toldOf(['decide_approval', 'enroll_approver', 'list_approvers'])].sort()).toEqual([
      'hub:decide_approval@1.0.0',
      'hub:list_approvers@1.0.0',
    ]);
  });

  test('are not those whose service is not configured', () => {
    const registry = new ToolRegistry({ validator: new SchemaValidator() });
    registry.register(unconfigured(makeTool({ name: 'send_email' }), 'set connectors.email'));
    registry.register(makeTool({ name: 'echo' }));
    const parts = { registry, devices: NO_DEVICES, capabilities: () => [], isOnline: () => true, links: () => [], addresses: () => [] };
    const { state, definitions } = ownState(parts, { name: 'cellar', version: '1.0.0', announcesDevices: true });
    expect(state.tools.map(({ id }) => id)).toEqual(['core:echo@1.0.0']);
    expect(definitions).toHaveLength(1);
  });
});

test('bounds of capabilities and the lack of a network travel with what the house has', () => {
  const registry = new ToolRegistry({ validator: new SchemaValidator() });
  const constraints = { max_image_mb: 20, model: 'eyes, big' };
  const capabilities = () => [
    { type: 'vision', description: 'Looks', constraints },
    { type: 'gpu', description: 'Is quick' },
  ];
  const parts = { registry, devices: NO_DEVICES, capabilities, isOnline: () => true, links: () => [], addresses: () => [] };
  const options = { name: 'cellar', version: '1.0.0', announcesDevices: true };
  const types = (isOnline: boolean) => ownState({ ...parts, isOnline: () => isOnline }, options).state.capabilities.map(({ type }) => type);
  expect(ownState(parts, options).state.capabilities[0]).toEqual({ type: 'vision', description: 'Looks', constraints });
  expect([types(true), types(false)]).toEqual([
    ['vision', 'gpu', 'wire:bytes', 'wire:waiting', 'wire:deadline', 'wire:session'],
    ['vision', 'gpu', 'wire:bytes', 'wire:waiting', 'wire:deadline', 'wire:session', 'wire:offline'],
  ]);
});

test('features come after capabilities, which tools name by their index', () => {
  const registry = new ToolRegistry({ validator: new SchemaValidator() });
  registry.register(makeTool({ requires: { capabilities: ['vision'] } }));
  const capabilities = () => Array.from({ length: 40 }, (_, index) => ({ type: index === 27 ? 'vision' : `c${index}`, description: 'x' }));
  const parts = { registry, devices: NO_DEVICES, capabilities, isOnline: () => true, links: () => [], addresses: () => [] };
  const { state } = ownState(parts, { name: 'cellar', version: '1.0.0', announcesDevices: true });
  expect([state.capabilities.length, state.capabilities.at(-1), state.tools[0]?.capability]).toEqual([
    32,
    { type: 'wire:session', description: '' },
    27,
  ]);
});

test('a site is the last capability, and without one a hub announces what it announced before', () => {
  const registry = new ToolRegistry({ validator: new SchemaValidator() });
  const parts = { registry, devices: NO_DEVICES, capabilities: () => [], isOnline: () => true, links: () => [], addresses: () => [] };
  const options = { name: 'cellar', version: '1.0.0', announcesDevices: true };
  const lastOf = (more: object) => ownState(parts, { ...options, ...more }).state.capabilities.at(-1);
  expect(lastOf({ site: 'north' })).toEqual({ type: 'wire:site', description: 'north' });
  expect(lastOf({ site: 'north', isRelay: false })).toEqual({ type: 'wire:site', description: 'north', constraints: { relays: false } });
  const digests = [{}, { site: undefined }, { isRelay: false }].map((more) => stateDigest(ownState(parts, { ...options, ...more }).state));
  expect(new Set(digests).size).toBe(1);
});
