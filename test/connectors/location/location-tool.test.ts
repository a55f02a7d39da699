import { describe, expect, test } from 'vitest';
import { openLocation } from '../../../src/connectors/location/location-tool.ts';
import { systemClock } from '../../../src/core/clock.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { agent, makePipeline, owner } from '../../calls/pipeline-fixture.ts';

const location = {
  hub: { latitude: 48.208_174, longitude: 16.373_819, accuracyM: 10 },
  'garden-robot': { latitude: 48.208_5, longitude: 16.374, accuracyM: 2 },
};

function fixture(config: Parameters<typeof openLocation>[1]) {
  const connector = openLocation({ clock: systemClock }, config);
  const { registry, pipeline } = makePipeline({ capabilities: () => (connector.capabilities ?? []).map(({ type }) => type) });
  for (const tool of connector.tools) expect(registry.register(tool)).toEqual([]);
  const call = (params: JsonObject, principal = owner) => pipeline.call({ principal, tool: 'get_location', params });
  return { connector, call };
}

describe('get_location', () => {
  test('returns the position of the hub or a device in the requested accuracy', async () => {
    const { call } = fixture({ location });
    expect(await call({})).toMatchObject({ result: { lat: 48.208, lon: 16.374, source: 'configured' } });
    expect(await call({ device_id: 'garden-robot', accuracy: 'precise' })).toMatchObject({
      result: { lat: 48.2085, lon: 16.374, accuracy_m: 2 },
    });
  });

  test('needs the permission for that device, and names no others', async () => {
    const { call } = fixture({ location });
    expect(await call({}, agent('location:read:garden-robot'))).toMatchObject({ error: { code: 'PERMISSION_DENIED' } });
    expect(await call({ device_id: 'car' }, agent('location:read:car', 'location:read:hub'))).toMatchObject({
      error: { code: 'DEVICE_NOT_FOUND', details: { candidates: ['hub'] } },
    });
    expect(await call({ device_id: 'constructor' })).toMatchObject({ error: { code: 'DEVICE_NOT_FOUND' } });
  });

  test('is listed without places, and a call names the setting', async () => {
    const { call, connector } = fixture({});
    expect(connector.capabilities).toBeUndefined();
    expect(await call({})).toMatchObject({ error: { code: 'NOT_CONFIGURED', message: expect.stringContaining('connectors.location') } });
  });

  test('takes a place with coordinates or a receiver, not with both or half of one', () => {
    const gpsd = { host: '127.0.0.1', port: 2947 };
    expect(() => fixture({ location: { hub: { latitude: 1, accuracyM: 1 } } })).toThrowError(/connectors.location.hub/);
    expect(() => fixture({ location: { hub: { latitude: 1, longitude: 1, accuracyM: 1, gpsd } } })).toThrowError(/instead of them/);
  });
});
