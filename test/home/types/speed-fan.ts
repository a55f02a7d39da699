import { FanControlServer } from '@matter/main/behaviors/fan-control';
import { FanControl } from '@matter/main/clusters/fan-control';

const { FanMode } = FanControl;
const SPEEDS = 10;
/** Highest percentage of each mode; a mode that is chosen runs at it. */
const MODE_PERCENT: ReadonlyMap<FanControl.FanMode, number> = new Map([
  [FanMode.Off, 0],
  [FanMode.Low, 33],
  [FanMode.Medium, 66],
  [FanMode.High, 100],
]);
/** In a context of the device's own, since a remote writer may not write the read-only attributes that follow. */
const AFTERWARDS = { offline: true, lock: true };
const AUTO_PERCENT = 50;

/** Keeps mode, percentage and speed in step as Matter Application Clusters 4.4.6 asks, whichever of them is written. */
export class SpeedFan extends FanControlServer.with('MultiSpeed', 'Auto', 'Rocking', 'Step') {
  override initialize(): void {
    super.initialize();
    this.reactTo(this.events.percentSetting$Changed, this.followPercent, AFTERWARDS);
    this.reactTo(this.events.speedSetting$Changed, this.followSpeed, AFTERWARDS);
    this.reactTo(this.events.fanMode$Changed, this.followMode, AFTERWARDS);
  }

  override step({ direction, wrap, lowestOff }: FanControl.StepRequest): void {
    const lowest = lowestOff === false ? 1 : 0;
    const next = this.state.speedCurrent + (direction === FanControl.StepDirection.Increase ? 1 : -1);
    if (next > SPEEDS) this.state.speedSetting = wrap ? lowest : SPEEDS;
    else if (next < lowest) this.state.speedSetting = wrap ? SPEEDS : lowest;
    else this.state.speedSetting = next;
  }

  followPercent(percent: number | null): void {
    if (percent === null) return;
    this.state.percentCurrent = percent;
    this.state.speedCurrent = Math.ceil((SPEEDS * percent) / 100);
    this.state.speedSetting = this.state.speedCurrent;
    this.state.fanMode = modeOf(percent) ?? FanMode.High;
  }

  followSpeed(speed: number | null): void {
    if (speed === null || Math.ceil((SPEEDS * (this.state.percentSetting ?? -1)) / 100) === speed) return;
    this.state.percentSetting = Math.floor((speed * 100) / SPEEDS);
  }

  followMode(mode: FanControl.FanMode): void {
    if (mode === FanMode.Auto) {
      this.state.percentSetting = null;
      this.state.speedSetting = null;
      this.state.percentCurrent = AUTO_PERCENT;
      this.state.speedCurrent = SPEEDS / 2;
    } else if (modeOf(this.state.percentSetting ?? -1) !== mode) {
      this.state.percentSetting = MODE_PERCENT.get(mode) ?? MODE_PERCENT.get(FanMode.High) ?? 100;
    }
  }
}

function modeOf(percent: number): FanControl.FanMode | undefined {
  if (percent < 0) return undefined;
  return [...MODE_PERCENT].find(([, highest]) => percent <= highest)?.[0];
}

/** Off; ten speeds; off, low, medium, high and auto; can swing left and right. */
export const FAN_STATE = {
  fanModeSequence: FanControl.FanModeSequence.OffLowMedHighAuto,
  fanMode: FanMode.Off,
  percentSetting: 0,
  percentCurrent: 0,
  speedMax: SPEEDS,
  speedSetting: 0,
  speedCurrent: 0,
  rockSupport: { rockLeftRight: true },
  rockSetting: { rockLeftRight: false },
};
