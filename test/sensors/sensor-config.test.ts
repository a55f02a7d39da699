import { describe, expect, test } from 'vitest';
import { parseCheckedYaml } from '../../src/core/config/checked-yaml.ts';
import { camelKeys } from '../../src/core/config/config-section.ts';
import { CONFIG_SCHEMA, type ConfigFile } from '../../src/hub/config/config-file.ts';
import { SENSORS_SECTION, type SensorsConfig } from '../../src/sensors/sensor-config.ts';

function configOf(sensors: string): SensorsConfig {
  const file = parseCheckedYaml(`sensors:\n${sensors}`, 'config.yaml', CONFIG_SCHEMA) as ConfigFile;
  return camelKeys(file.sensors, SENSORS_SECTION) as SensorsConfig;
}

describe('the sensors of the configuration', () => {
  test('are discovered without an entry in the file', () => {
    expect(configOf('  {}')).toMatchObject({ discover: true, pollSeconds: 30, sysfs: '/sys', devices: {}, serial: {} });
  });

  test('have their defaults and keep the names that the owner chose', () => {
    const { devices } = configOf(
      '  devices:\n    bed_1: {source: "w1:28-000005e2fdc3", poll_seconds: 5, readings: {soil_temperature: {offset: 1}}}',
    );
    expect(devices).toEqual({
      bed_1: { source: 'w1:28-000005e2fdc3', pollSeconds: 5, readings: { soil_temperature: { offset: 1, factor: 1 } } },
    });
  });

  test('of a serial port have a speed and a form', () => {
    const { serial } = configOf('  serial:\n    meter: {path: /dev/ttyUSB0, readings: {energy: {unit: Wh}}}');
    expect(serial.meter).toEqual({
      path: '/dev/ttyUSB0',
      baud: 9600,
      parity: 'none',
      dataBits: 8,
      stopBits: 1,
      format: 'json',
      silentAfterSeconds: 300,
      readings: { energy: { unit: 'Wh', factor: 1, offset: 0 } },
    });
  });

  test.each([
    ['an address of no kind', '  devices:\n    bed: {source: "28-000005e2fdc3"}', /line 3: sensors\.devices\.bed\.source/],
    ['a device without an address', '  devices:\n    bed: {area: Garden}', /line 3: sensors\.devices\.bed has no "source"/],
    ['an id that is none', '  devices:\n    "Bed 1": {source: "w1:28-000005e2fdc3"}', /config\.yaml, line \d/],
    ['a poll without a pause', '  poll_seconds: 0', /line 2: sensors\.poll_seconds must be >= 1/],
    ['a key that is not known', '  polls: 3', /line 2: unknown key "polls"/],
    ['a port elsewhere', '  serial:\n    meter: {path: /etc/passwd, readings: {a: {}}}', /line 3: sensors\.serial\.meter\.path/],
    ['a port without readings', '  serial:\n    meter: {path: /dev/ttyUSB0, readings: {}}', /line 3: sensors\.serial\.meter\.readings/],
    ['a speed that no port has', '  serial:\n    meter: {path: /dev/ttyUSB0, baud: 1234, readings: {a: {}}}', /baud must be one of 300/],
    ['a title with control characters', '  devices:\n    bed: {source: "w1:28-0", title: "a\\tb"}', /sensors\.devices\.bed\.title/],
  ])('%s is refused with its line', (_, text, message) => {
    expect(() => configOf(text)).toThrow(message);
  });
});
