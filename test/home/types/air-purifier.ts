import { ActivatedCarbonFilterMonitoringServer } from '@matter/main/behaviors/activated-carbon-filter-monitoring';
import { HepaFilterMonitoringServer } from '@matter/main/behaviors/hepa-filter-monitoring';
import { AirPurifierDevice } from '@matter/main/devices/air-purifier';
import type { DeviceType } from '../part.ts';
import { FAN_STATE, SpeedFan } from './speed-fan.ts';

class HepaFilter extends HepaFilterMonitoringServer.with('Condition') {
  override resetCondition(): void {
    this.state.condition = 100;
    this.state.changeIndication = 0;
  }
}

class CarbonFilter extends ActivatedCarbonFilterMonitoringServer.with('Condition') {
  override resetCondition(): void {
    this.state.condition = 100;
    this.state.changeIndication = 0;
  }
}

const worn = (condition: number): object => ({ condition, degradationDirection: 1, changeIndication: 0, inPlaceIndicator: true });

export const AIR_PURIFIER: DeviceType = {
  parts: [
    {
      id: 'purifier',
      type: AirPurifierDevice.with(SpeedFan, HepaFilter, CarbonFilter),
      state: {
        fanControl: FAN_STATE,
        hepaFilterMonitoring: { ...worn(40) },
        activatedCarbonFilterMonitoring: { ...worn(70) },
      },
    },
  ],
};
