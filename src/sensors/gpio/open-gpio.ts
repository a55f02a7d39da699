import type { AreaChanges } from '../../core/devices/home-names.ts';
import type { Service } from '../../core/service.ts';
import type { Clock } from '../../core/time/clock.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import type { SensorSource } from '../sensor-source.ts';
import { GpioBoard, type GpioPorts } from './gpio-board.ts';
import type { GpioChip } from './gpio-chip.ts';
import { checkGpioConfig, type GpioConfig } from './gpio-config.ts';
import { outputTools } from './output-tools.ts';

/** What a GPIO board is made from; tests bring their own chip and end. */
export type GpioGround = Omit<GpioPorts, 'openChip' | 'onExit'> & Partial<Pick<GpioPorts, 'openChip' | 'onExit'>>;

/** A board's lines as the hub uses them. */
export interface OpenGpio {
  /** Takes the lines at its start and leaves outputs safe at its end; it is to be started before the source is read. */
  readonly service: Service;
  readonly source: SensorSource;
  /** Those of the outputs, with their rooms as they are called today. */
  readonly tools: (areas: Pick<AreaChanges, 'areaToday'>) => readonly RegisteredTool[];
}

/** The lines of the configuration. Nothing is opened before the service starts. CONFIG_INVALID for lines that contradict each other. */
export function openGpio(ground: GpioGround, config: GpioConfig): OpenGpio {
  checkGpioConfig(config);
  const board = new GpioBoard(
    {
      openChip: ground.openChip ?? (() => openChip(ground.clock, config)),
      onExit: ground.onExit ?? onProcessExit,
      clock: ground.clock,
      logger: ground.logger,
      events: ground.events,
      store: ground.store,
    },
    config,
  );
  const tools = (areas: Pick<AreaChanges, 'areaToday'>) =>
    board.outputs.flatMap((line) => {
      const settings = config.outputs[line.name];
      if (!settings) return [];
      return outputTools(line, settings.area === undefined ? settings : { ...settings, area: areas.areaToday(settings.area) });
    });
  return { service: board, source: board, tools };
}

/** The chip of the configuration, by its backend; loads what that needs, and nothing else. NOT_FOUND, NOT_CONFIGURED. */
export async function openChip(clock: Clock, { backend, chip, inputs, outputs }: GpioConfig): Promise<GpioChip> {
  if (backend === 'sim') {
    const { SimChip } = await import('./sim-chip.ts');
    const names = [...Object.values(inputs), ...Object.values(outputs)].flatMap(({ line }) => (typeof line === 'string' ? [line] : []));
    const offsets = Array.from({ length: 64 }, (_, offset) => `GPIO${offset}`);
    return new SimChip(clock, { names: [...offsets, ...names.filter((name) => !offsets.includes(name))] });
  }
  if (backend === 'sysfs') {
    const [{ loadOnoff }, { SysfsChip }] = await Promise.all([import('./onoff-module.ts'), import('./sysfs-chip.ts')]);
    return new SysfsChip(await loadOnoff(), chip);
  }
  const [{ linuxGpioKernel }, { findChip }] = await Promise.all([import('./gpio-kernel.ts'), import('./find-chip.ts')]);
  return findChip(chip, { kernel: linuxGpioKernel });
}

/** Runs after the last turn of the loop too, and after an exception that nobody caught; not after SIGKILL. */
function onProcessExit(callback: () => void): () => void {
  process.on('exit', callback);
  return () => process.off('exit', callback);
}
