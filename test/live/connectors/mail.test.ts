import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SMTPServerOptions } from 'smtp-server';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { codeOf } from '../../calls/pipeline-fixture.ts';
import { messagesFixture, resultOf } from '../../connectors/messages/messages-fixture.ts';
import { CONNECTED, lineServer, mailServer, type PemFiles } from './mail-server.ts';

const owned: AsyncDisposable[] = [];
afterEach(async () => {
  for (const one of owned.splice(0).reverse()) await one[Symbol.asyncDispose]();
});

async function own<T extends AsyncDisposable>(starting: Promise<T>): Promise<T> {
  const one = await starting;
  owned.push(one);
  return one;
}

const plain = (port: number, more: object = {}) => ({
  email: { host: '127.0.0.1', port, security: 'none', from: 'hub@example.org', ...more },
});
const letter = { to: ['anna@example.org'], subject: 'Wasser 💧', body: 'Im Keller.\n.\nEnde' };

describe('send_email', () => {
  test('sends text with umlauts, copies and files; a blind copy stands in no header', async () => {
    const server = await own(mailServer());
    const { call } = messagesFixture(plain(server.port, { from_name: 'Haus "am See"' }));
    const content = Buffer.from([0, 1, 2, 250]).toString('base64');
    const answer = await call('send_email', {
      ...letter,
      cc: ['bert@example.org'],
      bcc: ['carl@example.org'],
      attachments: [{ filename: 'zähler.bin', content, content_type: 'application/x-meter' }],
    });
    expect(answer).toMatchObject({
      result: { sent: true, message_id: expect.stringMatching(/^<.+@example\.org>$/), timestamp: expect.any(String) },
    });
    const [mail] = server.taken;
    expect(mail).toMatchObject({ from: 'hub@example.org', to: ['anna@example.org', 'bert@example.org', 'carl@example.org'] });
    expect(mail?.text).toContain('To: anna@example.org');
    expect(mail?.text).toContain('Cc: bert@example.org');
    expect(mail?.text).not.toContain('carl@');
    expect(mail?.text).toContain(content);
    expect(mail?.text).toContain('Content-Type: application/x-meter');
    expect(mail?.text).toMatch(/Im Keller\.\r\n\.\r\nEnde/);
    expect(mail?.text).toContain(resultOf(answer).message_id);
  });

  test('sends HTML where it is said to be', async () => {
    const server = await own(mailServer());
    expect(await messagesFixture(plain(server.port)).call('send_email', { ...letter, body: '<b>x</b>', html: true })).toMatchObject({
      status: 'success',
    });
    expect(server.taken[0]?.text).toContain('Content-Type: text/html');
  });

  test.each([
    ['subject', { subject: 'Hi\r\nBcc: eve@example.com' }],
    ['address', { to: ['anna@example.org\r\nBcc: eve@example.com'] }],
    ['list in one address', { to: ['anna@example.org,eve@example.com'] }],
    ['name in an address', { to: ['Eve <eve@example.com>'] }],
    ['file name', { attachments: [{ filename: 'a"\r\nX-Evil: 1', content: 'AA==' }] }],
    ['type of a file', { attachments: [{ filename: 'a', content: 'AA==', content_type: 'text/plain\r\nX-Evil: 1' }] }],
    ['no base64', { attachments: [{ filename: 'a', content: '***' }] }],
    ['nobody', { to: [] }],
  ])('refuses a mail with a %s that is more than that', async (_, wrong) => {
    const server = await own(mailServer());
    expect(await messagesFixture(plain(server.port)).call('send_email', { ...letter, ...wrong })).toMatchObject({
      error: { code: 'VALIDATION_ERROR' },
    });
    expect(server.taken).toEqual([]);
  });

  test('files are never fetched for the caller, and never more than 10 MiB', async () => {
    const server = await own(mailServer());
    const { connector } = messagesFixture(plain(server.port));
    const tool = connector.tools.find(({ definition }) => definition.name === 'send_email') ?? expect.unreachable();
    const context = { signal: AbortSignal.timeout(20_000), clock: { now: () => 0 } } as never;
    const files = (bytes: number) => [{ filename: 'a.bin', content: Buffer.alloc(bytes).toString('base64') }];
    const send = (bytes: number) => tool.handler({ ...letter, cc: [], bcc: [], html: false, attachments: files(bytes) }, context);
    await expect(send(10 * 1_048_576 + 1)).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
    expect(await send(10 * 1_048_576)).toMatchObject({ sent: true });
    expect(server.taken[0]?.text.length).toBeGreaterThan(13_000_000);
  });

  test('goes only to whom the owner allows, copies included', async () => {
    const server = await own(mailServer());
    const { call } = messagesFixture(plain(server.port, { allowed_recipients: ['*@example.org', 'bert@example.net'] }));
    expect(await call('send_email', { ...letter, cc: ['BERT@example.net'] })).toMatchObject({ status: 'success' });
    for (const wrong of [{ to: ['eve@example.com'] }, { bcc: ['eve@example.org.example.com'] }]) {
      expect(await call('send_email', { ...letter, ...wrong })).toMatchObject({ error: { code: 'PERMISSION_DENIED' } });
    }
    expect(server.taken).toHaveLength(1);
  });

  test('tells whom the server refused while it took the mail for others', async () => {
    const server = await own(
      mailServer({
        onRcptTo: ({ address }, _session, done) =>
          done(address.startsWith('gone') ? Object.assign(new Error('No such user'), { responseCode: 550 }) : null),
      }),
    );
    const { call } = messagesFixture(plain(server.port));
    expect(await call('send_email', { ...letter, to: ['anna@example.org', 'gone@example.org'] })).toMatchObject({
      result: { sent: true, rejected: ['gone@example.org'] },
    });
    expect(await call('send_email', { ...letter, to: ['gone@example.org'] })).toMatchObject({
      error: { code: 'SERVICE_REFUSED', details: { status: 550 } },
    });
  });
});

describe('a mail server that does not take the mail', () => {
  const dialogue = (special: (line: string) => string | undefined | null) => (line: string) => {
    const said = special(line);
    if (said !== undefined) return said;
    if (line === CONNECTED) return '220 small';
    if (/^(EHLO|MAIL|RCPT|RSET)/.test(line)) return '250 fine';
    return line === 'DATA' ? '354 go on' : undefined;
  };

  test('later: says it was busy, and the call is made again', async () => {
    let count = 0;
    const answers = ['451 busy', '250 taken'];
    const server = await own(lineServer(dialogue((line) => (line === '.' ? answers[count++] : undefined))));
    expect(await messagesFixture(plain(server.port)).call('send_email', letter)).toMatchObject({ result: { sent: true } });
    expect(count).toBe(2);
  });

  test('never: the whole mail was refused, and it is not tried again', async () => {
    let count = 0;
    const server = await own(
      lineServer(
        dialogue((line) => {
          if (line === '.') count++;
          return line === '.' ? '554 looks like spam' : undefined;
        }),
      ),
    );
    expect(await messagesFixture(plain(server.port)).call('send_email', letter)).toMatchObject({
      error: { code: 'SERVICE_REFUSED', message: expect.stringContaining('spam'), details: { status: 554 } },
    });
    expect(count).toBe(1);
  });

  test('not known: it ended, or went silent, after the last line', async () => {
    const ending = await own(lineServer(dialogue((line) => (line === '.' ? null : undefined))));
    expect(await messagesFixture(plain(ending.port)).call('send_email', letter)).toMatchObject({ error: { code: 'OUTCOME_UNKNOWN' } });
    const quiet = await own(lineServer(dialogue(() => undefined)));
    expect(await messagesFixture(plain(quiet.port)).call('send_email', letter, 3_000)).toMatchObject({
      error: { code: 'OUTCOME_UNKNOWN' },
    });
  });

  test('nothing was sent: it ended before, never said a word, or is not there', async () => {
    const ending = await own(lineServer(dialogue((line) => (line === 'DATA' ? null : undefined))));
    expect(await messagesFixture(plain(ending.port)).call('send_email', letter)).toMatchObject({ error: { code: 'SERVICE_UNAVAILABLE' } });
    const mute = await own(lineServer(() => undefined));
    expect(await messagesFixture(plain(mute.port)).call('send_email', letter, 400)).toMatchObject({ error: { code: 'TIMEOUT' } });
    const gone = await mailServer();
    await gone[Symbol.asyncDispose]();
    expect(await messagesFixture(plain(gone.port)).call('send_email', letter)).toMatchObject({ error: { code: 'SERVICE_UNAVAILABLE' } });
  });

  test('talks garbage', async () => {
    const server = await own(lineServer(() => 'HTTP/1.1 400 Bad Request'));
    expect(await messagesFixture(plain(server.port)).call('send_email', letter)).toMatchObject({ error: { code: 'SERVICE_UNAVAILABLE' } });
  });
});

describe('mail and TLS', () => {
  let folder: string;
  let pem: PemFiles;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'atmo-mail-'));
    pem = { key: join(folder, 'key.pem'), certificate: join(folder, 'certificate.pem') };
    const made = [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-days',
      '2',
      '-subj',
      '/CN=localhost',
    ];
    execFileSync('openssl', [...made, '-addext', 'subjectAltName=DNS:localhost', '-keyout', pem.key, '-out', pem.certificate], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const login = { user: 'hub', password: 'env:MAIL' };
  const secured = (port: number, more: object = {}) => ({ email: { host: 'localhost', port, from: 'hub@example.org', ...login, ...more } });
  const onAuth: NonNullable<SMTPServerOptions['onAuth']> = ({ username, password }, _session, done) =>
    password === 'right' ? done(null, { user: username ?? '' }) : done(new Error('no'));

  test('STARTTLS with a certificate of the owner’s authority, then the password', async () => {
    const server = await own(mailServer({ pem, onAuth }));
    const { call } = messagesFixture(secured(server.port, { ca_file: pem.certificate }), { env: { MAIL: 'right' } });
    expect(await call('send_email', letter)).toMatchObject({ result: { sent: true } });
    expect(server.taken).toMatchObject([{ user: 'hub', isEncrypted: true }]);
  });

  test('TLS from the first byte', async () => {
    const server = await own(mailServer({ pem, onAuth, secure: true }));
    const { call } = messagesFixture(secured(server.port, { ca_file: pem.certificate, security: 'tls' }), { env: { MAIL: 'right' } });
    expect(await call('send_email', letter)).toMatchObject({ result: { sent: true } });
  });

  test('a wrong password is a refusal that does not show it', async () => {
    const server = await own(mailServer({ pem, onAuth }));
    const { call } = messagesFixture(secured(server.port, { ca_file: pem.certificate }), { env: { MAIL: 'wr0ng-one' } });
    const answer = await call('send_email', letter);
    expect(answer).toMatchObject({ error: { code: 'SERVICE_REFUSED', details: { status: 535 } } });
    expect(JSON.stringify(answer)).not.toContain('wr0ng-one');
  });

  test('a certificate of nobody known, or a server without STARTTLS, gets neither password nor mail', async () => {
    const asked: unknown[] = [];
    const noting: typeof onAuth = (auth, session, done) => {
      asked.push(auth);
      onAuth(auth, session, done);
    };
    const stranger = await own(mailServer({ pem, onAuth: noting }));
    const bare = await own(mailServer({ onAuth: noting }));
    const send = ({ port }: { readonly port: number }) =>
      messagesFixture(secured(port), { env: { MAIL: 'right' } }).call('send_email', letter);
    const reason = 'DEPTH_ZERO_SELF_SIGNED_CERT';
    expect(await send(stranger)).toMatchObject({
      error: {
        code: 'SERVICE_UNAVAILABLE',
        message: expect.stringContaining('certificate'),
        details: { reason, permanent: true },
        retryable: false,
      },
    });
    expect(codeOf(await send(bare))).toBe('SERVICE_REFUSED');
    expect([asked, stranger.taken, bare.taken]).toEqual([[], [], []]);
  });
});
