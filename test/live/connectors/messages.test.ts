import { createHmac } from 'node:crypto';
import { afterEach, describe, expect, test } from 'vitest';
import { owner } from '../../calls/pipeline-fixture.ts';
import { messagesFixture } from '../../connectors/messages/messages-fixture.ts';
import { type SpokenAnswer, spokenService } from './spoken-service.ts';

const owned: AsyncDisposable[] = [];
afterEach(async () => {
  for (const one of owned.splice(0).reverse()) await one[Symbol.asyncDispose]();
});

async function service(answer: Parameters<typeof spokenService>[0]) {
  const spoken = await spokenService(answer);
  owned.push(spoken);
  return spoken;
}

const json = (value: object, status = 200): SpokenAnswer => ({
  status,
  body: JSON.stringify(value),
  headers: { 'content-type': 'application/json' },
});
const bodyOf = (request: { readonly body: string } | undefined) => JSON.parse(request?.body ?? 'null') as Record<string, unknown>;

/** An address where nobody listens. */
async function silentAddress(): Promise<string> {
  const gone = await spokenService(() => 'hang');
  await gone[Symbol.asyncDispose]();
  return gone.url;
}

function house(ways: object, order?: object) {
  return { notify: { recipients: { Anna: { also: ['@anna', 'anna@example.org'], ways, ...(order && { order }) } } } };
}

const NTFY_ANSWER = json({ id: 'hwQ2YpKdmg', time: 1, event: 'message', topic: 'anna' });

describe('notify', () => {
  test('through ntfy: the id is that of the server, the urgency its priority, the token stays out of answers', async () => {
    const ntfy = await service(() => NTFY_ANSWER);
    const ways = { phone: { ntfy: { url: `${ntfy.url}/push/anna`, token: 'env:NTFY' } } };
    const { call } = messagesFixture(house(ways), { env: { NTFY: 'tk_secret' } });
    const answer = await call('notify', { recipient: '@ANNA', message: 'Wäsche fertig', title: 'Keller ✓', urgency: 'critical' });
    expect(answer).toMatchObject({
      result: { delivered: true, delivery_id: 'hwQ2YpKdmg', channel_used: 'phone', timestamp: expect.any(String) },
    });
    expect(ntfy.heard).toMatchObject([{ method: 'POST', path: '/push/', headers: { authorization: 'Bearer tk_secret' } }]);
    expect(bodyOf(ntfy.heard[0])).toEqual({
      topic: 'anna',
      message: 'Wäsche fertig',
      title: 'Keller ✓',
      priority: 5,
      sequence_id: expect.stringMatching(/^[0-9a-f]{32}$/),
    });
    expect(JSON.stringify(answer)).not.toContain('tk_secret');
  });

  test('what answers 200 and is no ntfy server has delivered nothing', async () => {
    const wall = await service(() => ({ status: 200, body: '<html>Log in to the hotel</html>' }));
    const other = await service(() => json({ ok: true }));
    for (const { url } of [wall, other]) {
      const { call } = messagesFixture(house({ phone: { ntfy: { url: `${url}/anna` } } }));
      expect(await call('notify', { recipient: 'Anna', message: 'x' })).toMatchObject({ error: { code: 'SERVICE_REFUSED' } });
    }
  });

  test('through a webhook: signed as Standard Webhooks say, under one id however often it is tried', async () => {
    const secret = `whsec_${Buffer.from('0123456789abcdef').toString('base64')}`;
    let count = 0;
    const hook = await service(() => ({ status: count++ === 0 ? 503 : 204 }));
    const ways = { hook: { webhook: { url: `${hook.url}/in?x=1`, token: 'env:TOKEN', signing_secret: 'env:SIGN' } } };
    const { call } = messagesFixture(house(ways), { env: { TOKEN: 't', SIGN: secret } });
    const answer = await call('notify', { recipient: 'anna', message: 'Post ist da' });
    expect(hook.heard).toHaveLength(2);
    const [first, second] = hook.heard;
    const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signature } = second?.headers ?? {};
    expect(answer).toMatchObject({ result: { delivered: true, delivery_id: id, channel_used: 'hook' } });
    expect(first?.headers['webhook-id']).toBe(id);
    const expected = createHmac('sha256', '0123456789abcdef').update(`${id}.${at}.${second?.body}`).digest('base64');
    expect(signature).toBe(`v1,${expected}`);
    expect(second).toMatchObject({ path: '/in?x=1', headers: { authorization: 'Bearer t' } });
    expect(bodyOf(second)).toMatchObject({ id, recipient: 'Anna', message: 'Post ist da', urgency: 'medium' });
  });

  test('through Apprise: its type by urgency; a configuration that tells nobody has not delivered', async () => {
    const apprise = await service(({ body }) => (bodyOf({ body }).tag === 'nobody' ? { status: 204 } : { status: 200, body: 'Sent' }));
    const { call } = messagesFixture(
      house({
        good: { apprise: { url: `${apprise.url}/notify/home`, tag: 'anna' } },
        none: { apprise: { url: `${apprise.url}/notify/home`, tag: 'nobody' } },
      }),
    );
    expect(await call('notify', { recipient: 'Anna', message: 'x', title: 'T', urgency: 'high', channels: ['good'] })).toMatchObject({
      result: { delivered: true, channel_used: 'good' },
    });
    expect(bodyOf(apprise.heard[0])).toEqual({ body: 'x', type: 'warning', title: 'T', tag: 'anna' });
    expect(await call('notify', { recipient: 'Anna', message: 'x', channels: ['none'] })).toMatchObject({
      error: { code: 'SERVICE_REFUSED', details: { ways: [{ channel: 'none', code: 'SERVICE_REFUSED' }] } },
    });
  });

  test('goes on to the next way when one is away or refuses, in the order of the urgency', async () => {
    const refusing = await service(() => ({ status: 403, body: 'topic is reserved' }));
    const ntfy = await service(() => NTFY_ANSWER);
    const ways = {
      away: { webhook: { url: await silentAddress() } },
      refusing: { ntfy: { url: `${refusing.url}/anna` } },
      good: { ntfy: { url: `${ntfy.url}/anna` } },
    };
    const { call } = messagesFixture(house(ways, { low: ['good'] }));
    expect(await call('notify', { recipient: 'Anna', message: 'x' })).toMatchObject({ result: { channel_used: 'good' } });
    expect(refusing.heard).toHaveLength(1);
    expect(await call('notify', { recipient: 'Anna', message: 'x', urgency: 'low' })).toMatchObject({ result: { channel_used: 'good' } });
    expect(refusing.heard).toHaveLength(1);
  });

  test('who sent and got no answer does not know: it ends there, unless it is urgent', async () => {
    const breaking = await service(() => 'break');
    const ntfy = await service(() => NTFY_ANSWER);
    const { call } = messagesFixture(house({ first: { webhook: { url: breaking.url } }, second: { ntfy: { url: `${ntfy.url}/anna` } } }));
    expect(await call('notify', { recipient: 'Anna', message: 'x' })).toMatchObject({
      error: { code: 'OUTCOME_UNKNOWN', details: { ways: [{ channel: 'first', code: 'OUTCOME_UNKNOWN' }] } },
    });
    expect([breaking.heard.length, ntfy.heard.length]).toEqual([1, 0]);
    expect(await call('notify', { recipient: 'Anna', message: 'x', urgency: 'critical' })).toMatchObject({
      result: { channel_used: 'second' },
    });
  });

  test('a way that hangs leaves time for the next; nobody who answers is an unknown outcome at the deadline', async () => {
    const hanging = await service(() => 'hang');
    const ntfy = await service(() => NTFY_ANSWER);
    const { call } = messagesFixture(house({ slow: { webhook: { url: hanging.url } }, good: { ntfy: { url: `${ntfy.url}/anna` } } }));
    const urgent = { recipient: 'Anna', message: 'x', urgency: 'high' };
    expect(await call('notify', urgent, 4_000)).toMatchObject({ result: { channel_used: 'good' } });
    const only = messagesFixture(house({ slow: { webhook: { url: hanging.url } } }));
    expect(await only.call('notify', urgent, 2_000)).toMatchObject({ error: { code: 'OUTCOME_UNKNOWN' } });
  });

  test('is tried again only while nothing was delivered', async () => {
    let count = 0;
    const ntfy = await service(() => (count++ === 0 ? { status: 503 } : NTFY_ANSWER));
    const { call } = messagesFixture(house({ phone: { ntfy: { url: `${ntfy.url}/anna` } } }));
    expect(await call('notify', { recipient: 'Anna', message: 'x' })).toMatchObject({ status: 'success' });
    expect(ntfy.heard).toHaveLength(2);
    const refusing = await service(() => ({ status: 400 }));
    const other = messagesFixture(house({ phone: { ntfy: { url: `${refusing.url}/anna` } } }));
    expect(await other.call('notify', { recipient: 'Anna', message: 'x' })).toMatchObject({ error: { code: 'SERVICE_REFUSED' } });
    expect(refusing.heard).toHaveLength(1);
  });

  test('may run as a job', async () => {
    const ntfy = await service(() => NTFY_ANSWER);
    const { pipeline, jobs } = messagesFixture(house({ phone: { ntfy: { url: `${ntfy.url}/anna` } } }));
    const answer = await pipeline.callAsync({ principal: owner, tool: 'notify', params: { recipient: 'Anna', message: 'x' } });
    expect(answer).toMatchObject({ kind: 'job' });
    await expect.poll(() => jobs.list(owner)[0]?.status).toBe('succeeded');
  });
});

describe('post_slack', () => {
  const slack = { token: 'env:SLACK', allowed_channels: ['#home', 'C0*'] };
  const env = { SLACK: 'xoxb-secret' };

  test('posts into a channel or a thread and tells the ts', async () => {
    const api = await service(() => json({ ok: true, channel: 'C01', ts: '1700000000.000100' }));
    const { call } = messagesFixture({ slack: { ...slack, url: `${api.url}/api` } }, { env });
    expect(await call('post_slack', { channel: '#home', text: 'fertig', thread_ts: '1699999999.000200' })).toMatchObject({
      result: { ok: true, ts: '1700000000.000100' },
    });
    expect(api.heard).toMatchObject([{ path: '/api/chat.postMessage', headers: { authorization: 'Bearer xoxb-secret' } }]);
    expect(bodyOf(api.heard[0])).toEqual({ channel: '#home', text: 'fertig', thread_ts: '1699999999.000200' });
  });

  test.each([
    ['SERVICE_REFUSED', json({ ok: false, error: 'channel_not_found' }), 1],
    ['SERVICE_REFUSED', { status: 200, body: 'no json' } as const, 1],
    ['SERVICE_REFUSED', json(['what']), 1],
    ['OUTCOME_UNKNOWN', json({ ok: false, error: 'internal_error' }), 1],
    ['OUTCOME_UNKNOWN', 'break' as const, 1],
  ])('%s for an answer that is no success', async (code, answer, tries) => {
    const api = await service(() => answer);
    const { call } = messagesFixture({ slack: { ...slack, url: api.url } }, { env });
    const said = await call('post_slack', { channel: 'C0123', text: 'x' });
    expect(said).toMatchObject({ error: { code } });
    expect(JSON.stringify(said)).not.toContain('xoxb');
    expect(api.heard).toHaveLength(tries);
  });

  test('waits when Slack says so, and posts only where the owner allows', async () => {
    let count = 0;
    const api = await service(() => (count++ === 0 ? { status: 429, headers: { 'retry-after': '1' } } : json({ ok: true, ts: '1.2' })));
    const { call } = messagesFixture({ slack: { ...slack, url: api.url } }, { env });
    expect(await call('post_slack', { channel: '#home', text: 'x' })).toMatchObject({ result: { ts: '1.2' } });
    expect(await call('post_slack', { channel: '#work', text: 'x' })).toMatchObject({ error: { code: 'PERMISSION_DENIED' } });
    expect(api.heard).toHaveLength(2);
  });
});

describe('send_sms', () => {
  const form = {
    format: 'form',
    body: { To: '{phone}', From: '+4930123', Body: '{message}' },
    user: 'AC1',
    secret: 'env:SMS',
    id_at: '/sid',
  };
  const nested = {
    body: { messages: [{ to: ['{phone}'], text: '{message}' }], flash: false },
    headers: { Authorization: 'App {secret}' },
    secret: 'env:SMS',
    id_at: '/messages/0/message~1id',
  };
  const env = { SMS: 's3cret&' };

  test('as a form with Basic authentication, whatever the message holds', async () => {
    const provider = await service(() => json({ sid: 'SM42' }, 201));
    const { call } = messagesFixture({ sms: { ...form, url: provider.url } }, { env });
    const message = 'a&Body=b {phone} "ü"';
    expect(await call('send_sms', { phone: '+4915112345678', message })).toMatchObject({ result: { delivered: true, sid: 'SM42' } });
    const sent = new URLSearchParams(provider.heard[0]?.body);
    expect([...sent]).toEqual([
      ['To', '+4915112345678'],
      ['From', '+4930123'],
      ['Body', message],
    ]);
    expect(provider.heard[0]?.headers.authorization).toBe(`Basic ${Buffer.from('AC1:s3cret&').toString('base64')}`);
  });

  test('as JSON with the secret in a header and the id deep in the answer', async () => {
    const provider = await service(() => json({ messages: [{ 'message/id': 77 }] }));
    const { call } = messagesFixture({ sms: { ...nested, url: provider.url } }, { env });
    expect(await call('send_sms', { phone: '+4915112345678', message: '"}],"x":1 {secret}' })).toMatchObject({ result: { sid: '77' } });
    expect(bodyOf(provider.heard[0])).toEqual({ messages: [{ to: ['+4915112345678'], text: '"}],"x":1 {secret}' }], flash: false });
    expect(provider.heard[0]?.headers.authorization).toBe('App s3cret&');
  });

  test('without an id in the answer nothing counts as delivered; numbers are those that the owner allows', async () => {
    const provider = await service(() => json({ status: 'maybe' }));
    const { call } = messagesFixture({ sms: { ...form, url: provider.url, allowed_numbers: ['+49*'] } }, { env });
    expect(await call('send_sms', { phone: '+4915112345678', message: 'x' })).toMatchObject({ error: { code: 'SERVICE_REFUSED' } });
    expect(await call('send_sms', { phone: '+15551234567', message: 'x' })).toMatchObject({ error: { code: 'PERMISSION_DENIED' } });
    expect(await call('send_sms', { phone: '0151 1234', message: 'x' })).toMatchObject({ error: { code: 'VALIDATION_ERROR' } });
    expect(provider.heard).toHaveLength(1);
  });
});
