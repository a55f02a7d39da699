import type { Clock } from '../core/clock.ts';
import type { HubContext } from '../core/context.ts';
import type { AreaChanges } from '../core/devices/device-names.ts';
import type { ReadingStore } from '../core/devices/sensor-readings.ts';
import type { ServiceStack } from '../core/lifecycle.ts';
import type { KeyValueStore } from '../core/storage/key-value-store.ts';
import { BoardSensors, kernelSources } from '../sensors/board-sensors.ts';
import type { OpenGpio } from '../sensors/gpio/gpio-board.ts';
import type { GpioConfig } from '../sensors/gpio/gpio-config.ts';
import type { SensorsConfig } from '../sensors/sensor-config.ts';
import type { BoardDevices } from '../sensors/sensor-registry.ts';
import type { SensorSource } from '../sensors/sensor-source.ts';
import type { ToolRegistry } from '../tools/registry/tool-registry.ts';

/** The parts of the hub that sensors and outputs of the board need. */
export interface SensorCollaborators extends Pick<HubContext, 'clock' | 'logger' | 'events'> {
  readonly readings: ReadingStore;
  /** Stores the counts of meters on GPIO lines. */
  readonly store: KeyValueStore;
  readonly boardDevices: BoardDevices;
  readonly homeNames: AreaChanges;
}

/** Starts to read the board's sensors, also those plugged in later. Rejects with CONFIG_INVALID if a configured sensor cannot be read. */
export async function openSensors(
  collaborators: SensorCollaborators,
  registry: ToolRegistry,
  { config, stack }: { readonly config: SensorsConfig; readonly stack: ServiceStack },
): Promise<void> {
  const { clock, events, readings, store, homeNames } = collaborators;
  const logger = collaborators.logger.child({ module: 'sensors' });
  const sources: SensorSource[] = [...kernelSources(clock, config.sysfs)];
  if (Object.keys(config.serial).length > 0) sources.push(await openSerialSource(clock, config, stack));
  if (config.gpio) sources.push(await openGpioSource({ clock, logger, events, readings, store, homeNames, registry }, config.gpio, stack));
  await stack.start(
    new BoardSensors({ clock, logger, events, readings, sources, devices: collaborators.boardDevices, areas: homeNames }, config),
  );
}

/** Opens the source of serial instruments. Its code is loaded only if an instrument is configured. */
async function openSerialSource(clock: Clock, config: SensorsConfig, stack: ServiceStack): Promise<SensorSource> {
  const [{ SerialSource }, { serialPorts }] = await Promise.all([
    import('../sensors/serial/serial-source.ts'),
    import('../sensors/serial/serial-port.ts'),
  ]);
  const source = new SerialSource({ clock, open: serialPorts() }, config.serial);
  await stack.start(source);
  return source;
}

type GpioCollaborators = Omit<SensorCollaborators, 'boardDevices'> & { readonly registry: ToolRegistry };

/** Opens the source of GPIO lines. Its code is loaded only if a line is configured. Each output gets a tool. */
async function openGpioSource(collaborators: GpioCollaborators, config: GpioConfig, stack: ServiceStack): Promise<SensorSource> {
  const { openGpio } = await import('../sensors/gpio/gpio-board.ts');
  const { service, source, tools } = openGpio(collaborators, config);
  stack.own(registerOutputTools(collaborators, tools));
  await stack.start(service);
  return source;
}

/** Registers the tools of the outputs. If the area of an output is renamed, registers its tool again. */
function registerOutputTools(
  { registry, homeNames }: Pick<GpioCollaborators, 'registry' | 'homeNames'>,
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
