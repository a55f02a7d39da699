/** Homes of any size for measuring time: the tools that profiles make of devices of standard types, in rooms by the dozen. */
import type { Device } from '../../src/core/devices/device-model.ts';
import { parseDeviceId } from '../../src/core/devices/device-names.ts';
import { compileDevice } from '../../src/profiles/compile/compile-device.ts';
import { toolName } from '../../src/profiles/home/device-tool-names.ts';
import { deviceToolDefinition } from '../../src/profiles/tools/device-tool-definition.ts';
import type { RegisteredTool } from '../../src/tools/definition/tool-definition.ts';
import { toolId } from '../../src/tools/definition/tool-names.ts';
import { describeDeviceType } from '../../test/fixtures/describe-standard.ts';
import { profiles } from '../../test/profiles/device-fixtures.ts';

const ROOMS = [
  'Kitchen',
  'Hall',
  'Bathroom',
  'Attic',
  'Office',
  'Garage',
  'Garden',
  'Cellar',
  'Studio',
  'Living Room',
  'Bedroom',
  'Terrace',
];
const KINDS: readonly (readonly [type: string, name: string])[] = [
  ['DimmableLight', 'Light'],
  ['ExtendedColorLight', 'Lamp'],
  ['OnOffPlugInUnit', 'Plug'],
  ['WindowCovering', 'Blind'],
  ['Thermostat', 'Thermostat'],
  ['Fan', 'Fan'],
  ['DoorLock', 'Lock'],
  ['Speaker', 'Speaker'],
  ['TemperatureSensor', 'Sensor'],
];

/** Devices of a large home and their tools, exactly `count` of these. */
export interface Mansion {
  readonly devices: ReadonlyMap<string, Device>;
  readonly tools: readonly RegisteredTool[];
}

/** A home with `count` tools: wing after wing, each with every kind of device in every room. */
export function mansion(count: number): Mansion {
  const devices = new Map<string, Device>();
  const tools: RegisteredTool[] = [];
  for (let wing = 1; tools.length < count; wing++) {
    for (const room of ROOMS) {
      for (const [type, noun] of KINDS) {
        const made = deviceWithTools(type, `${room} ${noun} ${wing}`, `${room} ${wing}`);
        devices.set(made.device.id, made.device);
        tools.push(...made.tools);
      }
    }
  }
  return { devices, tools: tools.slice(0, count) };
}

function deviceWithTools(type: string, name: string, area: string): { readonly device: Device; readonly tools: readonly RegisteredTool[] } {
  const slug = name.toLowerCase().replaceAll(' ', '_');
  const description = describeDeviceType(type, {
    hasAllElements: true,
    device: { id: parseDeviceId(slug.replaceAll('_', '-')), name, area },
  });
  const compiled = compileDevice(description, profiles);
  const tools = compiled.tools.map((tool): RegisteredTool => {
    const definition = deviceToolDefinition(description.device, tool, toolName(slug, tool.action));
    return { id: toolId(definition), definition, handler: async () => null };
  });
  return { device: description.device, tools };
}
