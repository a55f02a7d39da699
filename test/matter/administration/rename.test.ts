import { beforeEach, describe, expect, test } from 'vitest';
import type { DeviceAdministration } from '../../../src/core/devices/device-administration.ts';
import { AtmoError, type ErrorCode } from '../../../src/core/errors.ts';
import { type AdministrationParts, matterAdministration, truncateUtf8 } from '../../../src/matter/administration/matter-administration.ts';
import { FakeNode } from './fake-node.ts';

describe('renaming', () => {
  const options = { signal: new AbortController().signal };
  let node: FakeNode;
  let names: string[];
  let administration: DeviceAdministration;

  beforeEach(() => {
    node = new FakeNode();
    names = [];
    const devices = {
      wholeNodes: node,
      get: () => ({ kind: 'node' }),
      rename: (_id: string, name: string) => names.push(name),
    };
    administration = matterAdministration({ devices } as unknown as AdministrationParts);
  });

  const refuseWith = (code: ErrorCode): void => {
    node.write = () => Promise.reject(new AtmoError(code, 'no'));
  };

  test('writes the part of the name that fits into the label of the device', async () => {
    await administration.rename(node.id, 'Dachboden-Steckdose für die Lüftung', options);
    expect(node.attributes.get('0/BasicInformation/NodeLabel')).toBe('Dachboden-Steckdose für die Lü');
    expect(names).toEqual(['Dachboden-Steckdose für die Lüftung']);
    expect(truncateUtf8('🙂🙂', 7)).toBe('🙂');
  });

  test.each(['DEVICE_UNREACHABLE', 'OUTCOME_UNKNOWN', 'CANCELLED'] as const)('changes nothing after %s', async (code) => {
    refuseWith(code);
    await expect(administration.rename(node.id, 'New', options)).rejects.toMatchObject({ code });
    expect(names).toEqual([]);
  });

  test.each(['CLUSTER_STATUS', 'NOT_SUPPORTED'] as const)(
    'of a device without a writable label (%s) changes the name on the hub',
    async (code) => {
      refuseWith(code);
      await administration.rename(node.id, 'New', options);
      expect(names).toEqual(['New']);
    },
  );
});
