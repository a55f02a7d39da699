import type { Clock } from '../core/time/clock.ts';
import { HwmonSource } from './kernel/hwmon-source.ts';
import { IioSource } from './kernel/iio-source.ts';
import { KernelFolder } from './kernel/kernel-folder.ts';
import { ThermalSource } from './kernel/thermal-source.ts';
import { W1Source } from './kernel/w1-source.ts';
import type { SensorSource } from './sensor-source.ts';

/** Everything that the kernel's drivers show below `sysfs`. */
export function kernelSources(clock: Clock, sysfs: string): readonly SensorSource[] {
  const kernel = new KernelFolder(sysfs);
  return [new ThermalSource({ kernel }), new HwmonSource({ kernel }), new IioSource({ kernel }), new W1Source({ kernel, clock })];
}
