import { DoorLockServer } from '@matter/main/behaviors/door-lock';
import { DoorLockDevice } from '@matter/main/devices/door-lock';
import type { DeviceType } from '../part.ts';

/** Locked; wants a PIN from remote callers. Users and PINs come from the home's description or are set over Matter. */
export const DOOR_LOCK: DeviceType = {
  parts: [
    {
      id: 'lock',
      type: DoorLockDevice.with(DoorLockServer.with('PinCredential', 'CredentialOverTheAirAccess', 'User', 'DoorPositionSensor')),
      state: {
        doorLock: {
          lockState: 1,
          lockType: 0,
          actuatorEnabled: true,
          doorState: 1,
          operatingMode: 0,
          autoRelockTime: 0,
          requirePinForRemoteOperation: true,
          wrongCodeEntryLimit: 5,
          userCodeTemporaryDisableTime: 10,
          minPinCodeLength: 4,
          maxPinCodeLength: 8,
          numberOfPinUsersSupported: 10,
          numberOfTotalUsersSupported: 10,
          numberOfCredentialsSupportedPerUser: 5,
          credentialRulesSupport: { single: true },
        },
      },
    },
  ],
};
