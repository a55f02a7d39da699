import { TemperatureControlServer } from '@matter/main/behaviors/temperature-control';
import type { TemperatureControl } from '@matter/main/clusters/temperature-control';

/** Takes a temperature in 0.01 °C. */
export class NumberControlled extends TemperatureControlServer.with('TemperatureNumber') {
  override setTemperature({ targetTemperature }: TemperatureControl.SetTemperatureRequest): void {
    if (targetTemperature !== undefined) this.state.temperatureSetpoint = targetTemperature;
  }
}

/** Takes one of its named temperature levels, by index. */
export class LevelControlled extends TemperatureControlServer.with('TemperatureLevel') {
  override setTemperature({ targetTemperatureLevel }: TemperatureControl.SetTemperatureRequest): void {
    if (targetTemperatureLevel !== undefined) this.state.selectedTemperatureLevel = targetTemperatureLevel;
  }
}
