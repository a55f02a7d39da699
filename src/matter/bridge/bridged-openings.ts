import '../matter-platform.ts';
import type { ActionContext, MaybePromise } from '@matter/main';
import { DoorLockServer } from '@matter/main/behaviors/door-lock';
import { WindowCoveringServer } from '@matter/main/behaviors/window-covering';
import type { DoorLock } from '@matter/main/clusters/door-lock';
import type { WindowCovering } from '@matter/main/clusters/window-covering';
import { DoorLockDevice } from '@matter/main/devices/door-lock';
import { WindowCoveringDevice } from '@matter/main/devices/window-covering';
import { hasRemoteActor } from '@matter/main/protocol';
import { Status, StatusResponseError } from '@matter/main/types';
import { refuse, request } from './bridged-request.ts';
import { closed100thsOf, openPercentOf } from './bridged-units.ts';
import { supervisorWithout } from './unstored-attributes.ts';

// Each command is carried out first. Only then does matter.js change the attributes, so that a refused command changes nothing.

/** The Window Covering cluster of a bridged cover (Matter application clusters 5.3). */
class BridgedCover extends WindowCoveringServer.with('Lift', 'PositionAwareLift') {
  static override get supervisor() {
    return supervisorWithout(BridgedCover, ['currentPositionLiftPercent100ths', 'currentPositionLiftPercentage']);
  }

  override initialize(): MaybePromise {
    // Before the reactor of matter.js, which would keep the mode in its memory although the write is refused.
    this.reactTo(this.events.mode$Changing, this.#refuseMode);
    return super.initialize();
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

  /** A mode would be for the motor, which the bridge does not have. In the maintenance mode, the cover would refuse all commands. */
  #refuseMode(_mode: WindowCovering.Mode, ...[, context]: [WindowCovering.Mode, ActionContext?]): void {
    if (context && hasRemoteActor(context)) throw new StatusResponseError('A bridged cover has no modes', Status.ConstraintError);
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
