import { describe, expect, test } from 'vitest';
import { LargeBodySlots } from '../../../src/http/server/request-body.ts';
import { agent } from '../../calls/pipeline-fixture.ts';
import { AGENT_TOKEN, ask, authenticatorOf, HOST, makeHttpApi, TOKEN } from '../http-fixture.ts';

const parameters = { type: 'object', properties: { text: { type: 'string', description: 'x' } } };
const LONG = { text: 'x'.repeat(200_000) };

/** `large` waits until it is let go, and says how much came; `small` has the common bound. */
function makeHub() {
  const tokens = { [AGENT_TOKEN]: agent('sensor:read'), other: { ...agent('sensor:read'), id: 'other' } };
  const setup = makeHttpApi({ authenticator: authenticatorOf(tokens) });
  const running: (() => void)[] = [];
  const handler = ({ text = '' }: { text?: string }) => new Promise<number>((resolve) => void running.push(() => resolve(text.length)));
  setup.addTool({ name: 'large', parameters, execution: { max_params_bytes: 300_000 }, handler });
  setup.addTool({ name: 'small', parameters });
  const call = (tool: string, body: unknown, token = TOKEN) => {
    const headers = { 'content-length': String(JSON.stringify(body).length) };
    return ask(setup.httpApi, `/api/v1/tools/${tool}/invoke`, { body, headers, token });
  };
  return { ...setup, running, call };
}

const until = async (isSo: () => boolean) => expect.poll(isSo).toBe(true);

describe('a body above the common bound', () => {
  test('arrives whole where the tool takes so much, also without a declared length', async () => {
    const { httpApi, running, call } = makeHub();
    const declared = call('large', LONG);
    await until(() => running.length === 1);
    running.pop()?.();
    expect((await declared).json).toMatchObject({ status: 'success', result: 200_000 });

    const headers = { host: HOST, authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
    const body = new Blob([JSON.stringify(LONG)]).stream();
    const streamed = httpApi.app.request(
      new Request(`http://${HOST}/api/v1/tools/large/invoke`, { method: 'POST', headers, body, duplex: 'half' }),
    );
    await until(() => running.length === 1);
    running.pop()?.();
    expect(await (await streamed).json()).toMatchObject({ result: 200_000 });
  });

  test('is refused for all other tools, unknown ones and without a token', async () => {
    const { httpApi, call } = makeHub();
    expect((await call('small', LONG)).json).toMatchObject({ code: 'PAYLOAD_TOO_LARGE', details: { max_bytes: 65_536 } });
    expect((await call('nothing', LONG)).status).toBe(413);
    expect((await call('large', { text: 'x'.repeat(400_000) })).json).toMatchObject({ details: { max_bytes: 365_536 } });
    const answer = await ask(httpApi, '/api/v1/tools/large/invoke', { body: LONG, token: null });
    expect(answer.status).toBe(401);
  });

  test('is taken twice at once, from one account once, and again when the call is answered', async () => {
    const { running, call } = makeHub();
    const first = call('large', LONG);
    await until(() => running.length === 1);
    const same = await call('large', LONG);
    expect([same.status, same.json.code, same.json.retryable]).toEqual([503, 'RESOURCE_EXCEEDED', true]);
    expect(same.headers.get('connection')).toBe('close');
    const second = call('large', LONG, AGENT_TOKEN);
    await until(() => running.length === 2);
    expect((await call('large', LONG, 'other')).json.code).toBe('RESOURCE_EXCEEDED');
    for (const end of running.splice(0)) end();
    expect([(await first).status, (await second).status]).toEqual([200, 200]);
    const third = call('large', LONG, 'other');
    await until(() => running.length === 1);
    running.pop()?.();
    expect((await third).status).toBe(200);
  });
});

test('no large body is read while it could take the rest of the memory', () => {
  let free = 39;
  const bodies = new LargeBodySlots(() => free);
  expect(() => bodies.acquire(agent(), 10)).toThrow(/too little memory/);
  free = 40;
  bodies.acquire(agent(), 10)[Symbol.dispose]();
});
