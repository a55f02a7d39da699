import { describe, expect, test } from 'vitest';
import type { DeviceDescription } from '../../../src/core/devices/device-model.ts';
import type { Json, JsonObject, JsonSchema } from '../../../src/core/json.ts';
import { standardCluster, standardClusterNames } from '../../../src/matter/model/data-model.ts';
import { compileDevice } from '../../../src/profiles/compile/compile-device.ts';
import type { DeviceTool } from '../../../src/profiles/compile/compiled-device.ts';
import { genericTools } from '../../../src/profiles/compile/generic-tools.ts';
import { isAdministrative } from '../../../src/profiles/files/administrative-clusters.ts';
import { ProfileSet } from '../../../src/profiles/files/profile-set.ts';
import { reasonableBounds } from '../../../src/profiles/values/human-schema.ts';
import { visitSchema } from '../../../src/tools/schema/schema-walk.ts';
import { described, homeWith, profiles, runTool, toolOf } from '../device-fixtures.ts';
import { ToolHarness } from '../tool-harness.ts';

const TOOLS = everyTool();

/** Every tool of every capability file, on a cluster with all that the standard knows. */
function everyTool(): readonly { readonly id: string; readonly tool: DeviceTool }[] {
  return profiles.capabilities().flatMap(({ id, variant: _, ...file }) => {
    const cluster = standardCluster(file.cluster) ?? expect.unreachable(id);
    const whole = described('OnOffLight');
    const deviceTypes = [{ id: 1, name: 'NoTypeOfTheStandard', revision: 1 }];
    const description: DeviceDescription = { ...whole, endpoints: [{ endpoint: 1, tags: [], deviceTypes, clusters: [cluster] }] };
    return compileDevice(description, ProfileSet.fromFiles({ capabilities: { [id]: file }, devices: {} })).tools.map((tool) => ({
      id,
      tool,
    }));
  });
}

const propertiesOf = (tool: DeviceTool) => Object.entries((tool.parameters.properties ?? {}) as Record<string, JsonSchema>);
const unitOf = (schema: JsonSchema) => String(schema['x-unit'] ?? '');

describe('a number that a tool takes', () => {
  const numbers = TOOLS.flatMap(({ id, tool }) =>
    propertiesOf(tool)
      .filter(([, schema]) => schema.type === 'number' || schema.type === 'integer')
      .map(([name, schema]) => ({ id, tool, name, schema })),
  );

  test('has a unit where its name speaks of time or power', () => {
    const bare = numbers.filter(({ name, schema }) => /(seconds|minutes|hours|amperes|watts)$/.test(name) && unitOf(schema) === '');
    expect(bare.map(({ id, tool, name }) => `${id}: ${tool.action} ${name}`)).toEqual([]);
  });

  test('keeps within reason where its unit is one of power, current, temperature or time', () => {
    const measured = numbers.filter(({ schema }) => reasonableBounds(unitOf(schema)) && unitOf(schema) !== '°C');
    expect(measured.length).toBeGreaterThan(20);
    for (const { id, tool, name, schema } of measured) {
      const { min, max } = reasonableBounds(unitOf(schema)) ?? expect.unreachable();
      const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = schema as { minimum?: number; maximum?: number };
      expect.soft(minimum, `${id}: ${tool.action} ${name}`).toBeGreaterThanOrEqual(min);
      expect.soft(maximum, `${id}: ${tool.action} ${name}`).toBeLessThanOrEqual(max);
    }
  });

  // Temperatures come in two units, so that their bounds stand in words and are checked when the call is planned.
  test('is refused beyond reason where it is a temperature', () => {
    const temperatures = numbers.filter(({ schema }) => unitOf(schema) === '°C');
    expect(temperatures.length).toBeGreaterThan(2);
    for (const { tool, name } of temperatures) {
      for (const beyond of [-300, 326]) {
        expect(() => tool.plan({ ...tool.example, [name]: beyond }), `${tool.action} ${name} ${beyond}`).toThrow(/ to [-\d.]+ °C/);
      }
    }
  });

  test('has reasonable bounds also on clusters that no file has', () => {
    const found: string[] = [];
    for (const name of standardClusterNames().filter((one) => !isAdministrative(one))) {
      for (const tool of genericTools(1, standardCluster(name) ?? expect.unreachable())) {
        visitSchema(tool.parameters, (part) => {
          const bounds = reasonableBounds(unitOf(part));
          if (!bounds) return;
          const scale = Number(part['x-scale'] ?? 1);
          const branches = [part, ...((part.anyOf ?? []) as JsonSchema[])].filter((one) => one.type !== undefined);
          for (const { minimum, maximum, type } of branches) {
            if (type === 'null') continue;
            const isWithin = Number(minimum) * scale >= bounds.min - 1e-6 && Number(maximum) * scale <= bounds.max + 1e-6;
            if (!isWithin) found.push(`${name}: ${tool.action} ${minimum} to ${maximum} × ${scale} ${unitOf(part)}`);
          }
        });
      }
    }
    expect(found).toEqual([]);
  });
});

describe('the limits of the device itself', () => {
  function deviceWith(type: string, told: Readonly<Record<string, Json>>, clusters: readonly string[] = []) {
    const description = described(type, { hasAllElements: true, clusters });
    const { home, compiled } = homeWith(description, told);
    return { home, compiled, description, run: (action: string, params: JsonObject) => runTool(home, compiled, { action, params }) };
  }
  const CHARGER = { 'EnergyEvse.CircuitCapacity': 32_000, 'EnergyEvse.UserMaximumChargeCurrent': 20_000 };

  test.each([-500, 33, -3.6e12, 9e12])('a charger on a circuit of 32 A refuses a limit of %d A with its range', async (amperes) => {
    const { home, run } = deviceWith('EnergyEvse', CHARGER);
    await expect(async () => run('set_charging_limit', { amperes })).rejects.toThrow(/0 to 32 A/);
    expect(home.written).toEqual([]);
  });

  test('the charging limit that was set is in the answer and a reading', async () => {
    const { compiled, run } = deviceWith('EnergyEvse', CHARGER);
    expect(await run('set_charging_limit', { amperes: 16 })).toMatchObject({
      state: { charging_limit: 16, circuit_capacity: 32 },
      target: { charging_limit: 16 },
      settled: true,
    });
    const reading = compiled.readings.find(({ path }) => path === 'charging_limit');
    expect([reading?.toHuman(16_000), reading?.unit]).toEqual([16, 'A']);
  });

  test('charging needs a lowest current that is not above the highest', async () => {
    const { home, run } = deviceWith('EnergyEvse', CHARGER);
    await expect(async () => run('enable_charging', { max_current: 16, min_current: 2.7e12 })).rejects.toThrow(/0 to 32 A/);
    await expect(async () => run('enable_charging', { max_current: 16, min_current: 20 })).rejects.toThrow(/above max_current, 16/);
    expect(home.invoked).toEqual([]);
    await run('enable_charging', { max_current: 16 });
    expect(home.invoked[0]?.fields).toMatchObject({ minimumChargeCurrent: 6000, maximumChargeCurrent: 16_000 });
  });

  test('beyond them a write in raw units waits for a person', async () => {
    const { description } = deviceWith('EnergyEvse', {});
    const hub = new ToolHarness(description);
    hub.home.report({ device: description.device.id, endpoint: 1, cluster: 'EnergyEvse', attribute: 'CircuitCapacity' }, 32_000);
    await hub.start();
    const risk = async (value: number) => {
      const request = { device_id: description.device.id, cluster: 'EnergyEvse', attribute: 'UserMaximumChargeCurrent', value };
      return (await hub.call('matter:control_matter_device', request)).effects[0]?.risk;
    };
    expect([await risk(16_000), await risk(-500_000), await risk(33_000)]).toEqual(['medium', 'dangerous', 'dangerous']);
  });

  test('power is adjusted within what the device can take and give, and for as long as it can', () => {
    const clusters = ['DeviceEnergyManagement'];
    const told = {
      'DeviceEnergyManagement.AbsMinPower': 0,
      'DeviceEnergyManagement.AbsMaxPower': 3_000_000,
      'DeviceEnergyManagement.PowerAdjustmentCapability': {
        powerAdjustCapability: [
          { minPower: 500_000, maxPower: 1_000_000, minDuration: 60, maxDuration: 600 },
          { minPower: 1_000_000, maxPower: 2_500_000, minDuration: 120, maxDuration: 1800 },
        ],
        cause: 'NoAdjustment',
      },
    };
    const { compiled } = deviceWith('DeviceEnergyManagement', told, clusters);
    expect(toolOf(compiled, 'adjust_power').parameters).toMatchObject({
      properties: { power: { minimum: 500, maximum: 2500 }, minutes: { minimum: 1, maximum: 30 } },
    });
  });

  test('a sensor with three levels of sensitivity takes 0 to 2', async () => {
    const { run } = deviceWith('ContactSensor', { 'BooleanStateConfiguration.SupportedSensitivityLevels': 3 }, [
      'BooleanStateConfiguration',
    ]);
    await expect(async () => run('set_sensitivity', { sensitivity: 3 })).rejects.toThrow(/0 to 2/);
  });

  test('a boost heats to no more than the thermostat beside it allows', async () => {
    const told = { 'Thermostat.MaxHeatSetpointLimit': 6500, 'Thermostat.AbsMaxHeatSetpointLimit': 8000 };
    const { home, run } = deviceWith('WaterHeater', told, ['Thermostat', 'WaterHeaterManagement']);
    await expect(async () => run('start_boost', { minutes: 30, temperature: 70 })).rejects.toThrow(/to 65 °C/);
    expect(home.invoked).toEqual([]);
  });

  test('nothing is turned on for no time at all, which would be for ever', async () => {
    const { home, run } = deviceWith('OnOffLight', {});
    await expect(async () => run('turn_on_for', { seconds: 0 })).rejects.toThrow(/0\.1 to 6553 s/);
    expect(home.invoked).toEqual([]);
  });
});

describe('what runs for a time', () => {
  test('is not idempotent, unless the time is only a setting', () => {
    const timed = TOOLS.filter(
      ({ tool }) =>
        tool.isIdempotent &&
        propertiesOf(tool).some(([name, schema]) => name !== 'transition_seconds' && unitOf(schema).match(/^(s|min|h)$/)),
    );
    // A place in a film, the round of a colour loop, a setting: the second call finds what the first one made.
    expect(timed.map(({ tool }) => tool.action).sort()).toEqual(['seek', 'set_hold_time', 'start_color_loop']);
    const begun = TOOLS.filter(({ tool }) =>
      ['turn_on_for', 'unlock_for', 'start_boost', 'pause_consumption', 'open'].includes(tool.action),
    );
    expect(begun.length).toBeGreaterThan(5);
    expect(begun.filter(({ id, tool }) => tool.isIdempotent && id !== 'closure' && id !== 'window-covering')).toEqual([]);
  });
});
