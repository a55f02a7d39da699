import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { legacyClient, modernClient } from '../mcp/mcp-clients.ts';
import { RunningHub } from '../running-hub.ts';
import { mailServer } from './mail-server.ts';

let stack = new AsyncDisposableStack();
afterEach(async () => {
  await stack.disposeAsync();
  stack = new AsyncDisposableStack();
});

async function startHub(mailPort: number) {
  const stateDir = stack.adopt(mkdtempSync(join(tmpdir(), 'atmo-large-')), (dir) => rmSync(dir, { recursive: true, force: true }));
  const email = { host: '127.0.0.1', port: mailPort, security: 'none', from: 'hub@example.org' };
  const hub = stack.use(await RunningHub.start({ stateDir, config: { matter: { enabled: false }, connectors: { email } } }));
  return { hub, stateDir, token: readFileSync(join(stateDir, 'owner.token'), 'utf8').trim() };
}

test('an attachment of 3 MB arrives whole through HTTP and both eras of MCP, and none of it stays on the disk', async () => {
  const server = stack.use(await mailServer());
  const { hub, stateDir, token } = await startHub(server.port);
  const content = randomBytes(3_000_000).toString('base64');
  const params = { to: ['anna@example.org'], subject: 'x', body: 'y', attachments: [{ filename: 'meter.jpg', content }] };

  expect(await hub.call('send_email', params)).toMatchObject({ result: { sent: true } });
  for (const open of [modernClient, legacyClient]) {
    const client = await open({ kind: 'http', url: `${hub.url}/mcp`, token });
    expect(await client.call('control_tool', { name: 'send_email', arguments: params })).toMatchObject({
      structuredContent: { sent: true },
    });
    await client.close();
  }
  expect(server.taken).toHaveLength(3);
  for (const { text } of server.taken) expect(text.replaceAll(/\r\n/g, '')).toContain(content);

  expect(await hub.call('send_email', { ...params, body: 'x'.repeat(3_000_000) })).toMatchObject({ error: { code: 'VALIDATION_ERROR' } });
  expect(await hub.call('notify', { recipient: 'x', message: content })).toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
  await hub.stop();
  const bytes = readdirSync(stateDir, { recursive: true, encoding: 'utf8' }).reduce(
    (sum, file) => sum + statSync(join(stateDir, file)).size,
    0,
  );
  expect(bytes).toBeLessThan(3_000_000);
});

test('who sends a large body slowly is cut off, and does not keep the place', async () => {
  const server = stack.use(await mailServer());
  const { hub, token } = await startHub(server.port);
  const { hostname, port, host } = new URL(hub.url);
  const socket = connect(Number(port), hostname);
  const ended = new Promise<number>((resolve) => socket.once('close', () => resolve(Date.now())));
  socket.on('error', () => {}).resume();
  const startMs = Date.now();
  const head = `POST /api/v1/tools/send_email/invoke HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n`;
  socket.write(`${head}Content-Length: 4000000\r\n\r\n{"to":`);
  const drip = setInterval(() => socket.write(' '), 500);
  const content = Buffer.alloc(100_000).toString('base64');
  const params = { to: ['anna@example.org'], subject: 'x', body: 'y', attachments: [{ filename: 'a', content }] };
  await expect.poll(() => hub.call('send_email', params)).toMatchObject({ code: 'RESOURCE_EXCEEDED' });
  expect((await ended) - startMs).toBeLessThan(20_000);
  clearInterval(drip);
  await expect.poll(() => hub.call('send_email', params)).toMatchObject({ result: { sent: true } });
});
