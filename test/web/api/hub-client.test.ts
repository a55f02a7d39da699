import { describe, expect, test } from 'vitest';
import { HubClient, type HubError } from '../../../src/web/api/hub-client.ts';

function clientOf(answer: Response | Error) {
  const sent: { path: string; init: RequestInit }[] = [];
  const refused: string[] = [];
  const client = new HubClient({
    fetch: async (path, init) => {
      sent.push({ path, init });
      if (answer instanceof Error) throw answer;
      return answer;
    },
    token: () => 'at1.token',
    onRefused: ({ code }) => refused.push(code),
  });
  return { client, sent, refused };
}

const json = (body: unknown, status = 200) => new Response(JSON.stringify(body), { status });

describe('the client of the page', () => {
  test('sends the token and JSON, and returns the bare result of a tool', async () => {
    const { client, sent } = clientOf(json({ status: 'success', result: { settled: true } }));
    expect(await client.invoke('matter:hall_light_turn_on@1.0.0', { a: 1 })).toEqual({ settled: true });
    expect(sent[0]?.path).toBe('/api/v1/tools/matter%3Ahall_light_turn_on%401.0.0/invoke');
    expect(sent[0]?.init).toMatchObject({
      method: 'POST',
      headers: { authorization: 'Bearer at1.token', 'content-type': 'application/json' },
      body: '{"a":1}',
      credentials: 'omit',
    });
  });

  test('throws problem details with their code and details', async () => {
    const { client } = clientOf(json({ code: 'DEVICE_NOT_FOUND', detail: 'No "x"', details: { nearest: ['y'] } }, 404));
    await expect(client.get('/api/v1/devices/x')).rejects.toMatchObject({
      code: 'DEVICE_NOT_FOUND',
      message: 'No "x"',
      status: 404,
      details: { nearest: ['y'] },
    });
  });

  test.each(['constructor', '__proto__', 'NO_SUCH_CODE'])('treats the unknown code %s as an internal error', async (code) => {
    const { client } = clientOf(json({ code, detail: 'no' }, 500));
    await expect(client.get('/x')).rejects.toMatchObject({ code: 'INTERNAL_ERROR', message: 'no' });
  });

  test('throws APPROVAL_REQUIRED although the HTTP status is a success', async () => {
    const envelope = { status: 'error', error: { code: 'APPROVAL_REQUIRED', message: 'wait', details: { approval_id: 'a' } } };
    const { client } = clientOf(json(envelope, 202));
    await expect(client.invoke('x')).rejects.toMatchObject({ code: 'APPROVAL_REQUIRED', details: { approval_id: 'a' } });
    const { client: other } = clientOf(json({ code: 'APPROVAL_REQUIRED', detail: 'wait', details: {} }, 202));
    await expect(other.post('/api/v1/approvers')).rejects.toMatchObject({ code: 'APPROVAL_REQUIRED' });
  });

  test('reports an expired token once', async () => {
    const { client, refused } = clientOf(json({ code: 'TOKEN_EXPIRED', detail: 'expired' }, 401));
    await expect(client.open('/api/v1/events')).rejects.toMatchObject({ status: 401 });
    expect(refused).toEqual(['TOKEN_EXPIRED']);
  });

  test('throws when no hub answers, or the answer is not from a hub', async () => {
    await expect(clientOf(new TypeError('failed to fetch')).client.get('/x')).rejects.toMatchObject({ code: 'HUB_UNREACHABLE', status: 0 });
    const error = await clientOf(new Response('<html>', { status: 502 }))
      .client.get('/x')
      .catch((thrown: unknown) => thrown as HubError);
    expect(error).toMatchObject({ code: 'INTERNAL_ERROR', status: 502 });
  });
});

describe('a part of the page that cannot be loaded', () => {
  const gone = () => Promise.reject(new TypeError('Failed to fetch dynamically imported module'));
  function pageOf(shell: string) {
    let reloads = 0;
    const build = { script: '/assets/main-AAAAAAAA.js', reload: () => void reloads++ };
    const client = new HubClient({ fetch: async () => new Response(shell), token: () => undefined, onRefused: () => undefined, build });
    return { client, reloads: () => reloads };
  }

  test('reloads the page where the hub has another build', async () => {
    const { client, reloads } = pageOf('<script src="/assets/main-BBBBBBBB.js">');
    void client.part(gone);
    await expect.poll(reloads).toBe(1);
  });

  test('reloads the page once, however many parts are missing', async () => {
    const { client, reloads } = pageOf('<script src="/assets/main-BBBBBBBB.js">');
    for (let part = 0; part < 3; part += 1) void client.part(gone);
    await expect.poll(reloads).toBe(1);
    await new Promise((resolve) => setImmediate(resolve));
    expect(reloads()).toBe(1);
  });

  test('is an error where the hub has the same build, so that the page never reloads in a loop', async () => {
    const { client, reloads } = pageOf('<script src="/assets/main-AAAAAAAA.js">');
    await expect(client.part(gone)).rejects.toMatchObject({ code: 'HUB_UNREACHABLE' });
    expect(reloads()).toBe(0);
    expect(await client.part(async () => 'came')).toBe('came');
  });
});
