import { expect, test } from 'vitest';
import { NO_DEVICES } from '../../../src/core/devices/device-directory.ts';
import type { Device } from '../../../src/core/devices/device-model.ts';
import { parseDeviceId } from '../../../src/core/devices/device-names.ts';
import { defineTool, p } from '../../../src/tools/definition/define-tool.ts';
import { CapabilityCatalogue } from '../../../src/tools/registry/capability-catalogue.ts';
import { ToolRegistry } from '../../../src/tools/registry/tool-registry.ts';
import { SchemaValidator } from '../../../src/tools/schema/schema-validator.ts';

const lamp = { id: parseDeviceId('lamp'), name: 'Lamp', deviceTypes: ['DimmableLight'], reachability: 'unreachable' } as unknown as Device;

function catalogueWith(names: readonly string[]) {
  const registry = new ToolRegistry({ validator: new SchemaValidator() });
  for (const name of names) {
    const parameters = { text: p.string({ description: 'Text' }) };
    registry.register(
      defineTool(
        {
          name,
          title: name,
          description: `Does ${name}`,
          category: 'computing',
          capabilities: ['speech'],
          hasSideEffects: false,
          parameters,
        },
        async () => null,
      ),
    );
  }
  return new CapabilityCatalogue(registry);
}

test('a capability is told with the tools that need it, and equal parameters have equal hashes', () => {
  const catalogue = catalogueWith(['say', 'sing']);
  catalogue.add({ type: 'speech', description: () => 'Says things' });
  catalogue.add({ type: 'storage', description: () => 'Keeps things' });
  const [speech, storage] = catalogue.list(NO_DEVICES, () => true);
  expect(catalogue.types()).toEqual(['speech', 'storage']);
  expect(speech?.tools.map(({ name }) => name)).toEqual(['core:say', 'core:sing']);
  expect(speech?.tools[0]?.parameters_hash).toMatch(/^sha256:[0-9a-f]{64}$/);
  expect(speech?.tools[0]?.parameters_hash).toBe(speech?.tools[1]?.parameters_hash);
  expect(storage).toEqual({ type: 'storage', description: 'Keeps things', tools: [] });
});

test('a bridge counts its devices each time it is asked and lists them with their reachability', () => {
  const catalogue = catalogueWith([]);
  const devices: Device[] = [];
  const directory = { ...NO_DEVICES, list: () => devices };
  catalogue.add({ type: 'matter_bridge', description: () => `bridge with ${devices.length} devices`, hasDevices: true });
  expect(catalogue.list(directory, () => true)[0]?.description).toBe('bridge with 0 devices');
  devices.push(lamp);
  const [bridge] = catalogue.list(directory, () => true);
  expect(bridge?.description).toBe('bridge with 1 devices');
  expect(bridge?.devices).toEqual([{ id: 'lamp', name: 'Lamp', type: 'dimmable_light', reachable: false }]);
});

test('a bridge does not count what the board itself has', () => {
  const catalogue = catalogueWith([]);
  const probe = { ...lamp, id: parseDeviceId('probe'), kind: 'board' } as const;
  catalogue.add({ type: 'matter_bridge', description: (count) => `bridge with ${count} devices`, hasDevices: true });
  const [bridge] = catalogue.list({ ...NO_DEVICES, list: () => [lamp, probe] }, () => true);
  expect(bridge?.description).toBe('bridge with 1 devices');
  expect(bridge?.devices?.map(({ id }) => id)).toEqual(['lamp']);
});

test('a tool that the caller may not see is not told', () => {
  const catalogue = catalogueWith(['say']);
  catalogue.add({ type: 'speech', description: () => 'Says things' });
  expect(catalogue.list(NO_DEVICES, () => false)[0]?.tools).toEqual([]);
});
