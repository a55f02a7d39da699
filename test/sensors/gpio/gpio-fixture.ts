import { parseCheckedYaml } from '../../../src/core/config/checked-yaml.ts';
import { camelKeys, section } from '../../../src/core/config/config-section.ts';
import { EventBus, type HubEvent } from '../../../src/core/events.ts';
import { silentLogger } from '../../../src/core/logger.ts';
import type { KeyValueStore } from '../../../src/core/storage/key-value-store.ts';
import { ChardevChip } from '../../../src/sensors/gpio/chardev-chip.ts';
import { openGpio } from '../../../src/sensors/gpio/gpio-board.ts';
import { GPIO_SECTION, type GpioConfig } from '../../../src/sensors/gpio/gpio-config.ts';
import type { ManualClock } from '../../manual-clock.ts';
import { MemoryKeyValueStore } from '../../memory-key-value-store.ts';
import { FakeGpioKernel } from './fake-gpio-kernel.ts';

const FILE = section({ gpio: GPIO_SECTION });

/** The part `gpio` of a configuration file, as the hub reads it. */
export function gpioConfig(yaml: string): GpioConfig {
  const { gpio } = camelKeys(parseCheckedYaml(yaml, 'config.yaml', FILE), FILE);
  return gpio as GpioConfig;
}

/** The lines of a configuration on a chip of a fake kernel. */
export class GpioFixture {
  readonly kernel = new FakeGpioKernel('pinctrl-rp1', ['GPIO0', 'GPIO1', 'GPIO2', 'GPIO3', 'GPIO4', 'GPIO5', 'GPIO6', 'GPIO7']);
  readonly clock: ManualClock = this.kernel.clock;
  readonly store: KeyValueStore;
  readonly events: HubEvent[] = [];
  readonly gpio: ReturnType<typeof openGpio>;
  /** What the process does when it ends without stopping the hub. */
  exit: () => void = () => {};

  constructor(yaml: string, store?: KeyValueStore) {
    const bus = new EventBus('hub-a', this.clock);
    bus.listen((event) => this.events.push(event));
    this.store = store ?? new MemoryKeyValueStore(this.clock);
    const ground = { clock: this.clock, logger: silentLogger, events: bus, store: this.store };
    const onExit = (callback: () => void) => {
      this.exit = callback;
      return () => {
        this.exit = () => {};
      };
    };
    this.gpio = openGpio({ ...ground, onExit, openChip: async () => new ChardevChip(this.kernel, '/dev/gpiochip0') }, gpioConfig(yaml));
  }

  get warnings(): readonly unknown[] {
    return this.events.filter(({ type }) => type === 'hub.warning').map(({ data }) => data.warning);
  }

  /** What every line says now, by its address. */
  async values(): Promise<Readonly<Record<string, unknown>>> {
    const { source } = this.gpio;
    const addresses = (await source.find()).map(({ address }) => address);
    const said: [string, unknown][] = [];
    await source.read({ addresses, signal: new AbortController().signal }, (sample) => {
      said.push([sample.address, 'value' in sample ? sample.value : sample.fault]);
    });
    return Object.fromEntries(said);
  }

  isHigh(offset: number): boolean {
    return this.kernel.lines[offset]?.isHigh ?? false;
  }
}
