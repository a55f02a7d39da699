import '../matter-platform.ts';
import { DoorLockServer } from '@matter/main/behaviors/door-lock';
import { WindowCoveringServer } from '@matter/main/behaviors/window-covering';
import type { DoorLock } from '@matter/main/clusters/door-lock';
import { WindowCovering } from '@matter/main/clusters/window-covering';
import { DoorLockDevice } from '@matter/main/devices/door-lock';
import { WindowCoveringDevice } from '@matter/main/devices/window-covering';
import { refuse, request } from './bridged-request.ts';
import { closed100thsOf, openPercentOf } from './bridged-units.ts';
import { supervisorWithout } from './unstored-attributes.ts';

// Each command is carried out first. Only then does matter.js change the attributes, so that a refused command changes nothing.

/** The Window Covering cluster of a bridged cover (Matter application clusters 5.3). */
class BridgedCover extends WindowCoveringServer.with('Lift', 'PositionAwareLift') {
  static override get supervisor() {
    return supervisorWithout(BridgedCover, ['currentPositionLiftPercent100ths', 'currentPositionLiftPercentage']);
  }

  override async initialize(): Promise<void> {
    await super.initialize();
    this.reactTo(this.events.currentPositionLiftPercent100ths$Changing, this.#followPosition);
  }

  override async upOrOpen(): Promise<void> {
    await request(this, 'open');
    await super.upOrOpen();
  }

  override async downOrClose(): Promise<void> {
    await request(this, 'close');
    await super.downOrClose();
  }

  override async goToLiftPercentage({ liftPercent100thsValue }: WindowCovering.GoToLiftPercentageRequest): Promise<void> {
    const openPercent = openPercentOf(liftPercent100thsValue);
    await request(this, 'set_position', { open_percent: openPercent });
    // The thing moves to a whole percentage and reports that one.
    await super.goToLiftPercentage({ liftPercent100thsValue: closed100thsOf(openPercent) });
  }

  override async stopMotion(): Promise<void> {
    await request(this, 'stop');
    await super.stopMotion();
  }

  /** Moves nothing: the thing moves, and its reports change the position. */
  override async handleMovement(): Promise<void> {}

  /**
   * A cover that no ecosystem moves has been moved at the cover itself, or was stopped before its target. It stands where it is meant to be.
   * This is judged while the attributes are locked: a report may wait for the end of the command that stops the cover.
   */
  #followPosition(position: number | null): void {
    const { operationalStatus } = this.state;
    if (operationalStatus.lift === WindowCovering.MovementStatus.Stopped) this.state.targetPositionLiftPercent100ths = position;
  }
}

/** The Door Lock cluster of a bridged lock, without PINs and users (Matter application clusters 5.2). */
class BridgedLock extends DoorLockServer.with() {
  override async lockDoor(fields: DoorLock.LockDoorRequest): Promise<void> {
    await request(this, 'lock');
    await super.lockDoor(fields);
  }

  override async unlockDoor(fields: DoorLock.UnlockDoorRequest): Promise<void> {
    await request(this, 'unlock');
    await super.unlockDoor(fields);
  }

  /** The lock would lock again by a command that nobody sends. */
  override unlockWithTimeout(): never {
    return refuse('UnlockWithTimeout');
  }
}

/** The device types of bridged covers and locks. */
export const OPENINGS = { cover: WindowCoveringDevice.with(BridgedCover), lock: DoorLockDevice.with(BridgedLock) };
