import { describe, expect, test } from 'vitest';
import type { Device } from '../../../src/core/device-model.ts';
import { NO_DEVICES } from '../../../src/core/no-devices.ts';
import { DEVICE_CAPABILITIES } from '../../../src/hub-capabilities.ts';
import { ownState } from '../../../src/mesh/gossip/own-state.ts';
import { CapabilityCatalogue } from '../../../src/tools/capability-catalogue.ts';
import { SchemaValidator } from '../../../src/tools/schema/schema-validator.ts';
import { ToolRegistry } from '../../../src/tools/tool-registry.ts';
import { stateDigest } from '../../../src/wire/messages/announced-state.ts';
import { makeTool } from '../../tools/tool-room.ts';

const device = (id: string, reachability: Device['reachability']) =>
  ({ id, name: `Light ${id}`, deviceTypes: ['DimmableLight'], reachability }) as unknown as Device;

/** The state of a bridge with two lights, one of them away. */
function stateOf({ announcesDevices = true } = {}) {
  const registry = new ToolRegistry({ validator: new SchemaValidator() });
  const requires = { capabilities: ['light_control'] };
  registry.register(makeTool({ namespace: 'matter', name: 'light2_on', requires, isAvailable: () => false }));
  registry.register(makeTool({ namespace: 'matter', name: 'light_on', version: '1.2.0', requires }));
  registry.register(makeTool({ namespace: 'matter', name: 'light', requires }));
  const devices = { ...NO_DEVICES, list: () => [device('b', 'unreachable'), device('a', 'reachable')] };
  const catalogue = new CapabilityCatalogue(registry);
  for (const capability of DEVICE_CAPABILITIES) catalogue.add(capability);
  const capabilities = () => catalogue.list(devices, () => false);
  const parts = { registry, devices, capabilities, links: () => [], addresses: () => ['10.0.0.1:8082'] };
  return ownState(parts, { name: 'attic', version: '1.0.0', announcesDevices }).state;
}

describe('ownState', () => {
  test('tells of a bridge with its devices, and of tools whose device is away', () => {
    const { capabilities, devices, tools } = stateOf();
    expect(capabilities[0]).toEqual({ type: 'matter_bridge', description: 'Matter/Thread bridge with 2 devices' });
    expect(devices).toEqual([
      { id: 'a', name: 'Light a', type: 'dimmable_light', isReachable: true },
      { id: 'b', name: 'Light b', type: 'dimmable_light', isReachable: false },
    ]);
    expect(tools.map(({ id, capability }) => [id, capability])).toEqual([
      ['matter:light@1.0.0', 2],
      ['matter:light2_on@1.0.0', 2],
      ['matter:light_on@1.2.0', 2],
    ]);
    expect(stateDigest(stateOf())).toMatch(/^[0-9a-f]{32}$/);
  });

  test('keeps the devices to the house where its owner wants that', () => {
    expect(stateOf({ announcesDevices: false }).devices).toBeNull();
  });
});
