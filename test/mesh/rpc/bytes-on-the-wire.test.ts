import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { forwardedRequestCodec } from '../../../src/codec/messages/call.ts';
import { frameCodec } from '../../../src/codec/messages/connection.ts';
import type { Principal } from '../../../src/core/auth/principal.ts';
import type { Json, JsonObject } from '../../../src/core/json.ts';
import { makeTool, settled } from '../../calls/pipeline-fixture.ts';
import { CallFixture, type Tap } from './call-fixture.ts';

const BYTES = { type: 'string', contentEncoding: 'base64', description: 'A picture' };
const image = randomBytes(1_000_000).toString('base64');
const small = randomBytes(3_000).toString('base64');
const agent: Principal = { id: 'agent-1', kind: 'agent', permissions: ['*'] };

/** Takes a picture, or says what it was given. */
const camera = makeTool({
  name: 'camera',
  execution: { async_allowed: true },
  parameters: { type: 'object', properties: { image: BYTES, note: { type: 'string', description: 'Any text' } } },
  returns: { type: 'object', properties: { image: BYTES } },
  handler: async (params: JsonObject): Promise<Json> => (params.image === undefined ? { image, note: image.slice(0, 40) } : params),
});

/** Three hubs in a line, the first of which asks the last; bytes of frames that each sends are counted. */
async function line() {
  const setup = await CallFixture.of(3);
  await setup.connect([0, 1], [1, 2]);
  const [entry, relay, executor] = [setup.hub(0), setup.hub(1), setup.hub(2)];
  executor.registry.register(camera);
  const sent = new Map<unknown, number>();
  const asked: unknown[] = [];
  for (const hub of setup.hubs) {
    const tap: Tap = (frame) => {
      sent.set(hub.id, (sent.get(hub.id) ?? 0) + frame.length);
      const told = frameCodec.decode(frame);
      if (told.type === 'request') asked.push(typeof forwardedRequestCodec.decode(told.body).params);
      return frame;
    };
    hub.tap.current = tap;
  }
  const forward = (params: JsonObject, extra = {}) =>
    setup.within(20_000, entry.client.router.forward(executor.id, setup.forwarded(camera, { params, ...extra })));
  return { setup, entry, relay, executor, forward, asked, sentBy: (hub: typeof entry) => sent.get(hub.id) ?? 0 };
}

describe('bytes between hubs', () => {
  test('a picture of a million bytes takes a million on the wire, and is base64 at both ends', async () => {
    const { executor, relay, forward, sentBy } = await line();
    expect((await forward({})).result).toEqual({ image, note: image.slice(0, 40) });
    for (const hub of [executor, relay]) expect(sentBy(hub)).toBeLessThan(1_005_000);
  });

  test('an entry hub that reads text alone gets text, a third more', async () => {
    const { setup, entry, executor, forward, sentBy } = await line();
    setup.firstHubs.add(entry.id);
    expect((await forward({})).result).toEqual({ image, note: image.slice(0, 40) });
    expect(sentBy(executor)).toBeGreaterThan(1_333_000);
  });

  test('a hub in between that reads text alone carries an answer with bytes all the same', async () => {
    const { setup, relay, executor, forward, sentBy } = await line();
    setup.firstHubs.add(relay.id);
    expect((await forward({})).result).toEqual({ image, note: image.slice(0, 40) });
    expect(sentBy(executor)).toBeLessThan(1_005_000);
  });

  test('parameters are bytes up to the first hub that reads text alone', async () => {
    const params = { image: small, note: small };
    const ways = [
      { first: [], forms: ['object', 'object'] },
      { first: [1], forms: ['string', 'string'] },
      { first: [2], forms: ['object', 'string'] },
    ];
    for (const { first, forms } of ways) {
      const { setup, asked, forward } = await line();
      for (const index of first) setup.firstHubs.add(setup.hub(index).id);
      expect((await forward(params)).result).toEqual(params);
      expect(asked).toEqual(forms);
    }
  });

  test('a call with bytes is the same call for its idempotency key', async () => {
    const { setup, executor, forward } = await line();
    const params = { image: small, note: 'once' };
    await forward(params, { idempotencyKey: 'k' });
    setup.firstHubs.add(executor.id);
    await forward(params, { idempotencyKey: 'k' });
    expect(executor.setup.audited.filter(({ kind }) => kind === 'intent')).toHaveLength(1);
    await expect(forward({ ...params, note: 'twice' }, { idempotencyKey: 'k' })).rejects.toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' });
  });

  test('what a job has found comes as bytes too', async () => {
    const { setup, entry, executor, forward, sentBy } = await line();
    const { result } = await forward({}, { mode: 'job' });
    await settled();
    const before = sentBy(executor);
    const asker = { principal: agent, signal: new AbortController().signal };
    const job = await setup.within(20_000, entry.client.jobs.status(executor.id, String((result as JsonObject).job_id), asker));
    expect(job).toMatchObject({ status: 'succeeded', result: { image } });
    expect(sentBy(executor) - before).toBeLessThan(1_005_000);
  });

  test('a picture that is too large for text has room as bytes', async () => {
    const { setup, entry, executor } = await line();
    const large = randomBytes(3_900_000).toString('base64');
    const tool = makeTool({
      name: 'large',
      returns: { type: 'object', properties: { image: BYTES } },
      handler: async () => ({ image: large }),
    });
    executor.registry.register(tool);
    const { result } = await setup.within(20_000, entry.client.router.forward(executor.id, setup.forwarded(tool)));
    expect((result as JsonObject).image === large).toBe(true);
  });
});
