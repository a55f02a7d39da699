import type { DeviceChange } from '../../core/devices/device-directory.ts';
import type { KnownDevice } from './node-devices.ts';

/** How the devices of one node differ from before; those that are gone come first. */
export function deviceChanges(before: readonly KnownDevice[], now: readonly KnownDevice[]): readonly DeviceChange[] {
  const gone = before.filter(({ device }) => now.every((known) => known.device.id !== device.id));
  const removed = gone.map(({ device }): DeviceChange => ({ kind: 'removed', device }));
  return [...removed, ...now.flatMap((known) => changesOf(known, before))];
}

function changesOf({ device, signature }: KnownDevice, before: readonly KnownDevice[]): readonly DeviceChange[] {
  const old = before.find((known) => known.device.id === device.id);
  if (old === undefined) return [{ kind: 'added', device }];
  return [
    ...(old.signature === signature ? [] : [{ kind: 'changed', device, before: old.device } as const]),
    ...(old.device.reachability === device.reachability ? [] : [{ kind: 'reachability', device } as const]),
  ];
}
