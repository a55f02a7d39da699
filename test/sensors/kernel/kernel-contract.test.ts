import { systemClock } from '../../../src/core/clock.ts';
import { HwmonSource, ThermalSource } from '../../../src/sensors/kernel/hwmon-thermal.ts';
import { IioSource } from '../../../src/sensors/kernel/iio.ts';
import { W1Source } from '../../../src/sensors/kernel/one-wire.ts';
import { Sysfs } from '../../../src/sensors/kernel/sysfs.ts';
import type { SensorSource } from '../../../src/sensors/sensor-source.ts';
import { type SourceRig, sensorSourceContract } from '../sensor-source-contract.ts';
import { SysfsTree } from '../sysfs-tree.ts';

/** A rig over the tree of a board; `attribute` is what vanishes with a sensor. */
function rig(make: (kernel: Sysfs) => SensorSource, attribute: (address: string) => string) {
  return async (): Promise<SourceRig> => {
    const tree = SysfsTree.of('pi5');
    tree.write('class/thermal/thermal_zone1/type', 'rp1-thermal');
    tree.write('class/thermal/thermal_zone1/temp', '51000');
    return {
      source: make(new Sysfs(tree.root)),
      unplug: (address) => tree.remove(attribute(address)),
      async [Symbol.asyncDispose]() {
        tree[Symbol.dispose]();
      },
    };
  };
}

sensorSourceContract(
  '1-Wire',
  rig(
    (kernel) => new W1Source({ kernel, clock: systemClock }),
    (address) => `bus/w1/devices/${address.slice('w1:'.length)}`,
  ),
);
sensorSourceContract(
  'Industrial I/O',
  rig(
    (kernel) => new IioSource({ kernel }),
    () => 'bus/iio/devices/iio:device0/in_humidityrelative_input',
  ),
);
sensorSourceContract(
  'hardware monitoring',
  rig(
    (kernel) => new HwmonSource({ kernel }),
    () => 'class/hwmon/hwmon1',
  ),
);
sensorSourceContract(
  'the thermal zones',
  rig(
    (kernel) => new ThermalSource({ kernel }),
    () => 'class/thermal/thermal_zone0',
  ),
);
