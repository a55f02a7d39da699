import type { AreaChanges } from '../core/devices/home-names.ts';
import type { ReadingStore } from '../core/devices/reading-store.ts';
import type { EventBus } from '../core/events.ts';
import type { Logger } from '../core/logger.ts';
import type { ServiceStack } from '../core/service.ts';
import type { KeyValueStore } from '../core/storage/key-value-store.ts';
import type { Clock } from '../core/time/clock.ts';
import type { BoardDevices } from '../sensors/board-devices.ts';
import { BoardSensors } from '../sensors/board-sensors.ts';
import type { GpioConfig } from '../sensors/gpio/gpio-config.ts';
import type { OpenGpio } from '../sensors/gpio/open-gpio.ts';
import { kernelSources } from '../sensors/kernel-sources.ts';
import type { SensorsConfig } from '../sensors/sensor-config.ts';
import type { SensorSource } from '../sensors/sensor-source.ts';
import type { ToolRegistry } from '../tools/tool-registry.ts';

/** What the board's sensors and outputs are made from. */
export interface SensorGround {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: EventBus;
  readonly readings: ReadingStore;
  /** Where meters on GPIO lines keep their counts. */
  readonly store: KeyValueStore;
  readonly boardDevices: BoardDevices;
  readonly homeNames: AreaChanges;
}

/** Starts to read the board's sensors; they come and go as the kernel has them. CONFIG_INVALID for a setting that cannot be. */
export async function openSensors(
  ground: SensorGround,
  registry: ToolRegistry,
  { config, stack }: { readonly config: SensorsConfig; readonly stack: ServiceStack },
): Promise<void> {
  const { clock, events, readings, store, homeNames } = ground;
  const logger = ground.logger.child({ room: 'sensors' });
  const sources: SensorSource[] = [...kernelSources(clock, config.sysfs)];
  if (Object.keys(config.serial).length > 0) sources.push(await openSerial(clock, config, stack));
  if (config.gpio) sources.push(await openLines({ clock, logger, events, readings, store, homeNames, registry }, config.gpio, stack));
  await stack.start(new BoardSensors({ clock, logger, events, readings, sources, devices: ground.boardDevices, areas: homeNames }, config));
}

/** Loaded where the owner has an instrument on a serial port. */
async function openSerial(clock: Clock, config: SensorsConfig, stack: ServiceStack): Promise<SensorSource> {
  const [{ SerialSource }, { serialPorts }] = await Promise.all([
    import('../sensors/serial/serial-source.ts'),
    import('../sensors/serial/serial-port.ts'),
  ]);
  const source = new SerialSource({ clock, open: serialPorts() }, config.serial);
  await stack.start(source);
  return source;
}

type LinesGround = Omit<SensorGround, 'boardDevices'> & { readonly registry: ToolRegistry };

/** Loaded where the owner has something on the board's GPIO lines; its outputs are tools. */
async function openLines(ground: LinesGround, config: GpioConfig, stack: ServiceStack): Promise<SensorSource> {
  const { openGpio } = await import('../sensors/gpio/open-gpio.ts');
  const { service, source, tools } = openGpio(ground, config);
  stack.own(registerPlaced(ground, tools));
  await stack.start(service);
  return source;
}

/** Registers the tools of the outputs, and those again whose room has another name. */
function registerPlaced({ registry, homeNames }: Pick<LinesGround, 'registry' | 'homeNames'>, tools: OpenGpio['tools']): AsyncDisposable {
  const register = () => {
    for (const tool of tools(homeNames)) {
      const known = registry.get(tool.id);
      if (!known || known.definition.metadata.area !== tool.definition.metadata.area) registry.register(tool, { replace: true });
    }
  };
  register();
  const stop = homeNames.onAreaRenamed(register);
  return { [Symbol.asyncDispose]: async () => stop() };
}
