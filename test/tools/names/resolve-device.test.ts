import { describe, expect, test } from 'vitest';
import { NO_HOME_NAMES, parseDeviceId } from '../../../src/core/devices/device-names.ts';
import { callerView } from '../../../src/tools/definition/tool-permissions.ts';
import { deviceNames, resolveDevice } from '../../../src/tools/names/resolve-names.ts';
import { agent, listAuthorizer, owner } from '../../calls/pipeline-fixture.ts';

const devices = [
  { id: parseDeviceId('lamp-1'), name: 'Kitchen Lamp' },
  { id: parseDeviceId('lamp-2'), name: 'Desk' },
  { id: parseDeviceId('lamp-3'), name: 'desk' },
];
const everything = callerView(owner, listAuthorizer);
const failure = (text: string, caller = everything) => {
  try {
    return resolveDevice(text, devices, caller);
  } catch (error) {
    return error;
  }
};

describe('device names', () => {
  test('an id or a unique name, letter case aside', () => {
    expect(resolveDevice('lamp-2', devices, everything)).toBe('lamp-2');
    expect(deviceNames(() => devices).resolve(' kitchen LAMP ', everything)).toBe('lamp-1');
  });

  test('a name that two devices have lists their ids', () => {
    expect(failure('DESK')).toMatchObject({ code: 'AMBIGUOUS_DEVICE', details: { candidates: ['lamp-2', 'lamp-3'] } });
  });

  test('another name that people gave counts as much as the name, and what both have lists the ids', () => {
    const called = { ...NO_HOME_NAMES, deviceAliases: (id: string) => (id === 'lamp-1' ? ['Colossus', 'Desk'] : []) };
    const names = deviceNames(() => devices.slice(0, 2), called);
    expect(names.resolve('colossus', everything)).toBe('lamp-1');
    expect(() => names.resolve('desk', everything)).toThrow(
      expect.objectContaining({ code: 'AMBIGUOUS_DEVICE', details: { candidates: ['lamp-1', 'lamp-2'] } }),
    );
    expect(() => names.resolve('Colosus', everything)).toThrow(expect.objectContaining({ details: { suggestions: ['lamp-1'] } }));
    expect(() => names.resolve('colossus', callerView(agent('device:read:lamp-2'), listAuthorizer))).toThrow(
      expect.objectContaining({ code: 'DEVICE_NOT_FOUND', details: { suggestions: [] } }),
    );
  });

  test('an unknown name suggests the nearest', () => {
    expect(failure('Kitchn Lamp')).toMatchObject({ code: 'DEVICE_NOT_FOUND', details: { suggestions: ['lamp-1'] } });
  });

  test('a device that the caller may not see answers exactly like none, and makes no name ambiguous', () => {
    const caller = callerView(agent('device:read:lamp-3'), listAuthorizer);
    expect(resolveDevice('desk', devices, caller)).toBe('lamp-3');
    const [hidden, absent] = ['lamp-1', 'lamp-9'].map((text) => JSON.stringify((failure(text, caller) as { toBody(): unknown }).toBody()));
    expect(hidden).toContain('DEVICE_NOT_FOUND');
    expect(hidden).toBe(absent?.replace('lamp-9', 'lamp-1'));
  });
});
