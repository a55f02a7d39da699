import { Millis, Time, type Timer } from '@matter/main';
import type { MovementDirection } from '@matter/main/behaviors/window-covering';
import { MovementType, WindowCoveringServer } from '@matter/main/behaviors/window-covering';
import { WindowCovering } from '@matter/main/clusters/window-covering';
import { WindowCoveringDevice } from '@matter/main/devices/window-covering';
import type { DeviceType } from '../part.ts';

const TICK_MS = 100;
/** Full travel takes two seconds. */
const STEP_PERCENT_100THS = 500;

/** Outlives the behaviour's instances, which live for one interaction each. */
class Movement {
  readonly goals = new Map<MovementType, number>();
  timer: Timer | undefined;
}

const movements = new WeakMap<object, Movement>();

/** A blind that takes its time, so that stopping half way is possible. It moves when its target is set at the device as well, as by its own switch. */
class MovingCovering extends WindowCoveringServer.with('Lift', 'PositionAwareLift', 'Tilt', 'PositionAwareTilt') {
  override async initialize(): Promise<void> {
    await super.initialize();
    const { events } = this;
    this.reactTo(events.targetPositionLiftPercent100ths$Changed, (target) => this.goTo(MovementType.Lift, target));
    this.reactTo(events.targetPositionTiltPercent100ths$Changed, (target) => this.goTo(MovementType.Tilt, target));
  }

  override handleMovement(...[type, , , target]: [MovementType, boolean, MovementDirection, number?]): void {
    this.goTo(type, target ?? 0);
  }

  override handleStopMovement(): void {
    this.rest();
    super.handleStopMovement();
    this.noteStatus();
  }

  tick(): void {
    const { goals } = this.movement;
    const lift = goals.get(MovementType.Lift);
    if (lift !== undefined) this.state.currentPositionLiftPercent100ths = nearer(this.state.currentPositionLiftPercent100ths, lift);
    if (lift === this.state.currentPositionLiftPercent100ths) goals.delete(MovementType.Lift);
    const tilt = goals.get(MovementType.Tilt);
    if (tilt !== undefined) this.state.currentPositionTiltPercent100ths = nearer(this.state.currentPositionTiltPercent100ths, tilt);
    if (tilt === this.state.currentPositionTiltPercent100ths) goals.delete(MovementType.Tilt);
    this.noteStatus();
    if (goals.size === 0) this.rest();
  }

  private goTo(type: MovementType, target: number | null): void {
    this.movement.goals.set(type, target ?? 0);
    this.movement.timer ??= Time.getPeriodicTimer('covering', Millis(TICK_MS), this.callback(this.tick, { lock: true })).start();
  }

  /** The server of matter.js leaves a part that was already at its target moving for ever. */
  private noteStatus(): void {
    const { goals } = this.movement;
    const { operationalStatus } = this.state;
    const lift = (goals.has(MovementType.Lift) && operationalStatus.lift) || WindowCovering.MovementStatus.Stopped;
    const tilt = (goals.has(MovementType.Tilt) && operationalStatus.tilt) || WindowCovering.MovementStatus.Stopped;
    this.state.operationalStatus = { lift, tilt, global: lift || tilt };
  }

  private get movement(): Movement {
    const movement = movements.get(this.endpoint) ?? new Movement();
    movements.set(this.endpoint, movement);
    return movement;
  }

  rest(): void {
    this.movement.goals.clear();
    this.movement.timer?.stop();
    this.movement.timer = undefined;
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    this.rest();
    await super[Symbol.asyncDispose]?.();
  }
}

function nearer(current: number | null, goal: number): number {
  const from = current ?? 0;
  const step = Math.max(-STEP_PERCENT_100THS, Math.min(STEP_PERCENT_100THS, goal - from));
  return from + step;
}

/** Open (0 % lift) with level slats. */
export const WINDOW_COVERING: DeviceType = {
  parts: [
    {
      id: 'covering',
      type: WindowCoveringDevice.with(MovingCovering),
      state: { windowCovering: { type: 8, endProductType: 14, currentPositionLiftPercent100ths: 0, currentPositionTiltPercent100ths: 0 } },
    },
  ],
};
