import { describe, expect, test } from 'vitest';
import type { AtmosphereConfig } from '../../../src/connectors/atmosphere/atmosphere-config.ts';
import { openAtmosphere } from '../../../src/connectors/atmosphere/atmosphere-tools.ts';
import type { ConnectorContext } from '../../../src/connectors/connector.ts';
import { silentLogger } from '../../../src/core/logger.ts';
import { makePipeline } from '../../calls/pipeline-fixture.ts';
import { ManualClock } from '../../manual-clock.ts';

const CONFIG: AtmosphereConfig = { relay: 'wss://relay.example.org/', meshId: 'open', announce: [] };
const ground = {
  clock: new ManualClock(),
  logger: silentLogger,
  registry: makePipeline().registry,
  nodeId: 'hub-aaaaaaaaaaaaaaaa',
  env: {},
  hub: { name: 'hall', version: '1' },
} as unknown as ConnectorContext;

function missing(atmosphere?: AtmosphereConfig) {
  const { tools, service } = openAtmosphere(ground, atmosphere ? { atmosphere } : {});
  return { settings: tools.map(({ missingSetting }) => missingSetting?.()), hasService: service !== undefined };
}

describe('the bridge', () => {
  test('is off unless it is configured: both tools name the setting, and nothing runs', () => {
    expect(missing()).toEqual({
      settings: ['set connectors.atmosphere in the configuration', 'set connectors.atmosphere.calls.outgoing in the configuration'],
      hasService: false,
    });
  });

  test('sends no calls unless they are switched on', () => {
    const calls = { incoming: false, outgoing: false };
    for (const config of [CONFIG, { ...CONFIG, calls }])
      expect(missing(config).settings).toEqual([undefined, expect.stringContaining('outgoing')]);
    expect(missing({ ...CONFIG, calls: { ...calls, outgoing: true } })).toEqual({ settings: [undefined, undefined], hasService: true });
  });

  test('is refused with incoming calls and no permissions', () => {
    const calls = { incoming: true, outgoing: false };
    expect(() => missing({ ...CONFIG, calls })).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  });

  test('returns the own node and the problem before it has entered', async () => {
    const [tool] = openAtmosphere(ground, { atmosphere: CONFIG }).tools;
    expect(await tool?.handler({}, { clock: ground.clock } as never)).toMatchObject({
      connected: false,
      problem: 'not connected yet',
      own_node: 'aaaaaaaaaaaaaaaa',
      mesh_id: 'open',
      nodes: [],
    });
    await expect(tool?.handler({ node: 'b' }, { clock: ground.clock } as never)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});
