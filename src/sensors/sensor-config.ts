import { section } from '../core/settings/config-section.ts';
import { BOARD_DEVICES, type BoardDeviceConfig } from './device-config.ts';
import { GPIO_SECTION, type GpioConfig } from './gpio/gpio-config.ts';
import { SERIAL_PORTS, type SerialPortConfig } from './serial/serial-config.ts';

/** JSON Schema of `sensors` in the configuration file. */
export const SENSORS_SECTION = section({
  discover: { type: 'boolean', default: true, description: 'Lists what the kernel has and no entry below names' },
  poll_seconds: { type: 'number', minimum: 1, maximum: 86_400, default: 30, description: 'How often sensors are read' },
  sysfs: { type: 'string', pattern: '^/.*[^/]$', default: '/sys', description: 'Where the kernel shows its sensors' },
  devices: BOARD_DEVICES,
  serial: SERIAL_PORTS,
  gpio: GPIO_SECTION,
});

/** The board's own sensors and outputs; the keys of the maps are device ids. */
export interface SensorsConfig {
  readonly discover: boolean;
  readonly pollSeconds: number;
  readonly sysfs: string;
  readonly devices: Readonly<Record<string, BoardDeviceConfig>>;
  readonly serial: Readonly<Record<string, SerialPortConfig>>;
  /** Lines of a GPIO chip; absent where the owner uses none. */
  readonly gpio?: GpioConfig;
}

/** The rooms that the configuration names, each with the key that says it, such as `sensors.devices.shed.area`. */
export function configuredAreas({ devices, serial, gpio }: SensorsConfig): readonly { readonly key: string; readonly area: string }[] {
  const sections = { devices, serial, 'gpio.inputs': gpio?.inputs ?? {}, 'gpio.outputs': gpio?.outputs ?? {} };
  return Object.entries(sections).flatMap(([section, entries]) =>
    Object.entries(entries).flatMap(([name, { area }]) => (area === undefined ? [] : [{ key: `sensors.${section}.${name}.area`, area }])),
  );
}
