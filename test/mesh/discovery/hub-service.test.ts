import { expect, test } from 'vitest';
import type { HubId } from '../../../src/core/ids.ts';
import { hubService, hubSighting } from '../../../src/mesh/discovery/hub-discovery.ts';

const id = 'hub-00112233aabbccdd' as HubId;
const announced = { ...hubService({ id, port: 8082, meshId: 'mesh-0011' }), addresses: ['10.0.0.1', 'fe80::1%eth0'] };

test('a hub tells the network its id, a tag of its mesh, and nothing else', () => {
  expect(announced).toMatchObject({
    name: id,
    type: '_atmosphere-edge._tcp',
    port: 8082,
    txt: { v: '1', id, mesh: expect.stringMatching(/^[0-9a-f]{8}$/) },
  });
  expect(Object.keys(announced.txt)).toEqual(['v', 'id', 'mesh']);
  expect(JSON.stringify(announced)).not.toContain('mesh-0011');
});

test('a hub of the same mesh is recognised, with whom to expect at its addresses', () => {
  expect(hubSighting(announced, 'mesh-0011')).toEqual({
    id,
    addresses: [
      { host: '10.0.0.1', port: 8082, expect: id },
      { host: 'fe80::1%eth0', port: 8082, expect: id },
    ],
  });
});

test('hubs of other meshes, of later versions and under false names are not', () => {
  expect(hubSighting(announced, 'mesh-0022')).toBeUndefined();
  expect(hubSighting({ ...announced, txt: { ...announced.txt, v: '2' } }, 'mesh-0011')).toBeUndefined();
  expect(hubSighting({ ...announced, name: 'hub-ffffffffffffffff' }, 'mesh-0011')).toBeUndefined();
  expect(hubSighting({ ...announced, name: 'printer' }, 'mesh-0011')).toBeUndefined();
  expect(hubSighting({ ...announced, txt: {} }, 'mesh-0011')).toBeUndefined();
});
