import { expect, test } from 'vitest';
import { EventBus } from '../../src/core/events.ts';
import { ServiceStack } from '../../src/core/lifecycle.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { openSensors } from '../../src/hub/sensors.ts';
import type { SensorsConfig } from '../../src/sensors/sensor-config.ts';
import { BoardDevices } from '../../src/sensors/sensor-registry.ts';
import { StoredHomeNames } from '../../src/tools/names/home-names.ts';
import { ToolRegistry } from '../../src/tools/registry/tool-registry.ts';
import { SchemaValidator } from '../../src/tools/schema/schema-validator.ts';
import { ManualClock } from '../manual-clock.ts';
import { MemoryKeyValueStore } from '../memory-key-value-store.ts';
import { gpioConfig } from '../sensors/gpio/gpio-fixture.ts';
import { KeptReadings } from '../sensors/kept-readings.ts';

const LINES = `
gpio:
  backend: sim
  outputs:
    pump: { line: 4, area: Garden }
    siren: { line: 5, area: Hall }
`;

test('the tools of an output follow the name of its room at once, and start with the name of today', async () => {
  const clock = new ManualClock();
  const store = new MemoryKeyValueStore(clock);
  const events = new EventBus('test', clock);
  const homeNames = new StoredHomeNames(store);
  const open = async () => {
    const registry = new ToolRegistry({ validator: new SchemaValidator() });
    const boardDevices = new BoardDevices({ clock, events });
    const stack = new ServiceStack();
    const collaborators = { clock, logger: silentLogger, events, readings: new KeptReadings(), store, boardDevices, homeNames };
    const config = { discover: true, pollSeconds: 30, sysfs: '/nowhere', devices: {}, serial: {}, gpio: gpioConfig(LINES) };
    await openSensors(collaborators, registry, { config: config as SensorsConfig, stack });
    return { registry, stack };
  };
  const placeOf = (registry: ToolRegistry, name: string) => {
    const { description, metadata } = registry.resolve(name).definition;
    return [metadata.area, /in "([^"]*)"/.exec(description)?.[1]];
  };

  const { registry, stack } = await open();
  const siren = registry.resolve('gpio:siren_turn_on');
  expect(placeOf(registry, 'gpio:pump_pulse')).toEqual(['Garden', 'Garden']);
  homeNames.renameArea('Garden', 'Yard', { isJoined: false });
  for (const action of ['turn_on', 'turn_off', 'pulse']) expect(placeOf(registry, `gpio:pump_${action}`)).toEqual(['Yard', 'Yard']);
  expect(registry.resolve('gpio:siren_turn_on')).toBe(siren);
  await stack[Symbol.asyncDispose]();

  const later = await open();
  expect(placeOf(later.registry, 'gpio:pump_turn_on')).toEqual(['Yard', 'Yard']);
  await later.stack[Symbol.asyncDispose]();
});
