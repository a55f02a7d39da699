import type { Clock } from '../core/clock.ts';
import type { AreaChanges } from '../core/devices/device-names.ts';
import type { ReadingStore } from '../core/devices/sensor-readings.ts';
import type { EventBus } from '../core/events.ts';
import type { ServiceStack } from '../core/lifecycle.ts';
import type { Logger } from '../core/logger.ts';
import type { KeyValueStore } from '../core/storage/key-value-store.ts';
import { BoardSensors, kernelSources } from '../sensors/board-sensors.ts';
import type { OpenGpio } from '../sensors/gpio/gpio-board.ts';
import type { GpioConfig } from '../sensors/gpio/gpio-config.ts';
import type { SensorsConfig } from '../sensors/sensor-config.ts';
import type { BoardDevices } from '../sensors/sensor-registry.ts';
import type { SensorSource } from '../sensors/sensor-source.ts';
import type { ToolRegistry } from '../tools/registry/tool-registry.ts';

/** What the board's sensors and outputs are made from. */
export interface SensorCollaborators {
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
  ground: SensorCollaborators,
  registry: ToolRegistry,
  { config, stack }: { readonly config: SensorsConfig; readonly stack: ServiceStack },
): Promise<void> {
  const { clock, events, readings, store, homeNames } = ground;
  const logger = ground.logger.child({ module: 'sensors' });
  const sources: SensorSource[] = [...kernelSources(clock, config.sysfs)];
  if (Object.keys(config.serial).length > 0) sources.push(await openSerialSource(clock, config, stack));
  if (config.gpio) sources.push(await openGpioSource({ clock, logger, events, readings, store, homeNames, registry }, config.gpio, stack));
  await stack.start(new BoardSensors({ clock, logger, events, readings, sources, devices: ground.boardDevices, areas: homeNames }, config));
}

/** Loaded where the owner has an instrument on a serial port. */
async function openSerialSource(clock: Clock, config: SensorsConfig, stack: ServiceStack): Promise<SensorSource> {
  const [{ SerialSource }, { serialPorts }] = await Promise.all([
    import('../sensors/serial/serial-source.ts'),
    import('../sensors/serial/serial-port.ts'),
  ]);
  const source = new SerialSource({ clock, open: serialPorts() }, config.serial);
  await stack.start(source);
  return source;
}

type LinesGround = Omit<SensorCollaborators, 'boardDevices'> & { readonly registry: ToolRegistry };

/** Loaded where the owner has something on the board's GPIO lines; its outputs are tools. */
async function openGpioSource(ground: LinesGround, config: GpioConfig, stack: ServiceStack): Promise<SensorSource> {
  const { openGpio } = await import('../sensors/gpio/gpio-board.ts');
  const { service, source, tools } = openGpio(ground, config);
  stack.own(registerOutputTools(ground, tools));
  await stack.start(service);
  return source;
}

/** Registers the tools of the outputs, and those again whose room has another name. */
function registerOutputTools(
  { registry, homeNames }: Pick<LinesGround, 'registry' | 'homeNames'>,
  tools: OpenGpio['tools'],
): AsyncDisposable {
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
