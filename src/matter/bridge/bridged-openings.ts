import '../matter-platform.ts';
import { DoorLockServer } from '@matter/main/behaviors/door-lock';
import { WindowCoveringServer } from '@matter/main/behaviors/window-covering';
import type { DoorLock } from '@matter/main/clusters/door-lock';
import type { WindowCovering } from '@matter/main/clusters/window-covering';
import { DoorLockDevice } from '@matter/main/devices/door-lock';
import { WindowCoveringDevice } from '@matter/main/devices/window-covering';
import { request } from './bridged-request.ts';
import { openPercentOf } from './bridged-units.ts';

// Each command is carried out first. Only then does matter.js change the attributes, so that a refused command changes nothing.

/** The Window Covering cluster of a bridged cover (Matter application clusters 5.3). */
class BridgedCover extends WindowCoveringServer.with('Lift', 'PositionAwareLift') {
  override async upOrOpen(): Promise<void> {
    await request(this, 'open');
    await super.upOrOpen();
  }

  override async downOrClose(): Promise<void> {
    await request(this, 'close');
    await super.downOrClose();
  }

  override async goToLiftPercentage(fields: WindowCovering.GoToLiftPercentageRequest): Promise<void> {
    await request(this, 'set_position', { open_percent: openPercentOf(fields.liftPercent100thsValue) });
    await super.goToLiftPercentage(fields);
  }

  override async stopMotion(): Promise<void> {
    await request(this, 'stop');
    await super.stopMotion();
  }

  /** Moves nothing: the thing moves, and its reports change the position. */
  override async handleMovement(): Promise<void> {}

  override handleStopMovement(): void {}
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
}

/** The device types of bridged covers and locks. */
export const OPENINGS = { cover: WindowCoveringDevice.with(BridgedCover), lock: DoorLockDevice.with(BridgedLock) };
