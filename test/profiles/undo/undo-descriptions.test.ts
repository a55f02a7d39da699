import { expect, test } from 'vitest';
import type { DeviceDescription } from '../../../src/core/devices/device-model.ts';
import { parseDeviceId } from '../../../src/core/devices/device-names.ts';
import type { Json, JsonSchema } from '../../../src/core/json.ts';
import { standardCluster } from '../../../src/matter/model/data-model.ts';
import { compileDevice } from '../../../src/profiles/compile/compile-device.ts';
import type { CompiledDevice } from '../../../src/profiles/compile/compiled-device.ts';
import { ProfileSet } from '../../../src/profiles/files/profile-set.ts';
import { toolEffects } from '../../../src/profiles/tools/run-device-tool.ts';
import { LiveDeviceStates } from '../../../src/profiles/undo/live-device-states.ts';
import { ManualClock } from '../../manual-clock.ts';
import { described, profiles } from '../device-fixtures.ts';

/** States in which the tools of a cluster are called, where values depend on each other. */
const STATES: Readonly<Record<string, Json>> = {
  'OnOff/OnTime': 0,
  'ColorControl/CurrentHue': 100,
  'ColorControl/CurrentSaturation': 100,
  'FanControl/FanMode': 'Medium',
  'FanControl/PercentSetting': 40,
  'FanControl/PercentCurrent': 40,
  'OperationalState/OperationalState': 'Running',
  'RvcOperationalState/OperationalState': 'Running',
  'Thermostat/OccupiedHeatingSetpoint': 2000,
  'Thermostat/OccupiedCoolingSetpoint': 2600,
  'Thermostat/MinSetpointDeadBand': 20,
  'Thermostat/SystemMode': 'Heat',
  'Thermostat/ControlSequenceOfOperation': 'CoolingAndHeating',
  'Thermostat/MinHeatSetpointLimit': 700,
  'Thermostat/MaxHeatSetpointLimit': 3000,
  'Thermostat/MinCoolSetpointLimit': 1600,
  'Thermostat/MaxCoolSetpointLimit': 3200,
  'Thermostat/AbsMinHeatSetpointLimit': 700,
  'Thermostat/AbsMaxHeatSetpointLimit': 3000,
  'Thermostat/AbsMinCoolSetpointLimit': 1600,
  'Thermostat/AbsMaxCoolSetpointLimit': 3200,
  'WaterHeaterManagement/BoostState': 'Active',
  'ValveConfigurationAndControl/CurrentState': 'Closed',
  'ValveConfigurationAndControl/CurrentLevel': 0,
  'ValveConfigurationAndControl/RemainingDuration': null,
};

/** A value that an attribute of this schema may have, other than the one of an example. */
function someRaw({ type, enum: names, anyOf, minimum = 0 }: JsonSchema & { readonly minimum?: number }): Json {
  if (Array.isArray(names)) return names[0] as Json;
  if (Array.isArray(anyOf)) return someRaw(anyOf[0] as JsonSchema);
  const [kind] = [type].flat();
  if (kind === 'boolean') return false;
  if (kind === 'array') return [];
  if (kind === 'object') return {};
  return kind === 'string' ? '' : Math.max(1, minimum);
}

/** Every capability file on a cluster with all that the standard knows, each attribute with a value. */
function everyDevice(): readonly { readonly id: string; readonly compiled: CompiledDevice }[] {
  return profiles.capabilities().flatMap(({ id, variant: _, ...file }) => {
    const cluster = standardCluster(file.cluster) ?? expect.unreachable(id);
    const deviceTypes = [{ id: 1, name: 'NoTypeOfTheStandard', revision: 1 }];
    const { device } = described('OnOffLight', { device: { id: parseDeviceId('one') } });
    const description: DeviceDescription = { device, endpoints: [{ endpoint: 1, tags: [], deviceTypes, clusters: [cluster] }] };
    const raw = new Map(cluster.attributes.map(({ name, schema }) => [`${cluster.name}/${name}`, someRaw(schema)]));
    const live = (_endpoint: number, owner: string, attribute: string) => {
      const path = `${owner}/${attribute}`;
      return Object.hasOwn(STATES, path) ? STATES[path] : raw.get(path);
    };
    return [{ id, compiled: compileDevice(description, ProfileSet.fromFiles({ capabilities: { [id]: file }, devices: {} }), live) }];
  });
}

test('a tool that nothing is known to undo says so in its description', () => {
  const silent = everyDevice().flatMap(({ id, compiled }) => {
    const devices = { get: () => compiled };
    const states = new LiveDeviceStates({
      devices,
      access: { read: async () => [], isCurrent: () => true },
      directory: { get: () => undefined },
      clock: new ManualClock(),
    });
    return compiled.tools.flatMap((tool) => {
      if (tool.kind === 'read' || tool.capability !== id || tool.undo !== undefined || !tool.example) return [];
      const { possible, reason } = states.reversibilityOf(toolEffects(compiled, tool, tool.example));
      return possible ? [] : [`${id}: ${tool.action}: ${reason}`];
    });
  });
  expect(silent).toEqual([]);
});
