import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { agent, codeOf } from '../../calls/pipeline-fixture.ts';
import { messagesConfig, messagesFixture } from './messages-fixture.ts';

const email = { host: 'mail.example.org', from: 'hub@example.org' };
const toAnna = (ways: object, more: object = {}) => ({ notify: { recipients: { anna: { ways, ...more } } } });
const mail = { mail: { email: { to: 'anna@example.org' } } };

describe('messages that nobody configured', () => {
  test('are tools that are listed as unavailable, say what to set, and bring no capability', async () => {
    const { connector, capabilities, call } = messagesFixture({});
    expect(connector.tools.map(({ definition }) => definition.name)).toEqual(['notify', 'send_email', 'post_slack', 'send_sms']);
    expect(connector.tools.every(({ isAvailable }) => isAvailable?.() === false)).toBe(true);
    expect([...capabilities]).toEqual([]);
    expect(await call('notify', { recipient: 'anna', message: 'x' })).toMatchObject({
      error: { code: 'NOT_CONFIGURED', message: expect.stringContaining('connectors.notify') },
    });
    expect(codeOf(await call('send_email', { to: ['a@b.example'], subject: '', body: '' }))).toBe('NOT_CONFIGURED');
    expect(codeOf(await call('post_slack', { channel: '#a', text: 'x' }))).toBe('NOT_CONFIGURED');
    expect(codeOf(await call('send_sms', { phone: '+4930123456', message: 'x' }))).toBe('NOT_CONFIGURED');
  });
});

describe('messages that are configured', () => {
  test('bring their capabilities and schemas', () => {
    const sms = { url: 'https://sms.example.org', body: { to: '{phone}' }, id_at: '/id' };
    const { connector, capabilities } = messagesFixture({ email, sms, slack: { token: 'env:S' }, ...toAnna(mail) }, { env: { S: 'x' } });
    expect([...capabilities].sort()).toEqual(['email', 'notification', 'slack_integration', 'sms']);
    const facts = connector.tools.map(({ definition: { name, requires, execution, metadata, parameters } }) => {
      const { timeoutMs, retries, isAsyncAllowed, isIdempotent } = execution;
      return [
        name,
        requires.permissions,
        requires.capabilities,
        metadata.category,
        { timeoutMs, retries, isAsyncAllowed, isIdempotent },
        parameters.required,
      ];
    });
    const run = { timeoutMs: 30_000, retries: 2, isAsyncAllowed: true, isIdempotent: false };
    expect(facts).toEqual([
      ['notify', ['notify:send'], ['notification'], 'communicating', run, ['recipient', 'message']],
      ['send_email', ['email:send'], ['email'], 'communicating', run, ['to', 'subject', 'body']],
      ['post_slack', ['slack:post'], ['slack_integration'], 'communicating', run, ['channel', 'text']],
      ['send_sms', ['sms:send'], ['sms'], 'communicating', run, ['phone', 'message']],
    ]);
  });

  test('are for those who may', async () => {
    const { pipeline } = messagesFixture({ email, ...toAnna(mail) });
    const params = { recipient: 'anna', message: 'x' };
    expect(codeOf(await pipeline.call({ principal: agent('email:send'), tool: 'notify', params }))).toBe('TOOL_NOT_FOUND');
    expect(codeOf(await pipeline.call({ principal: agent('notify:send'), tool: 'send_email', params }))).toBe('TOOL_NOT_FOUND');
  });

  test('refuse a long message, a title of two lines, an unknown urgency, recipient or channel', async () => {
    const { call } = messagesFixture({ email, ...toAnna(mail) });
    const good = { recipient: 'anna', message: 'x' };
    for (const wrong of [
      { message: 'x'.repeat(4097) },
      { message: '' },
      { title: 'a\nb' },
      { title: 'x'.repeat(257) },
      { urgency: 'now' },
      { channels: ['pigeon'] },
    ]) {
      expect(codeOf(await call('notify', { ...good, ...wrong }))).toBe('VALIDATION_ERROR');
    }
    expect(await call('notify', { ...good, recipient: 'eve@example.com' })).toMatchObject({
      error: { code: 'NOT_FOUND', details: { candidates: ['anna'] } },
    });
  });

  test('keep files that are sent out of the journal', async () => {
    const { call, audited } = messagesFixture({ email: { ...email, allowed_recipients: ['nobody@example.org'] } });
    const content = Buffer.from('a very private picture').toString('base64');
    const params = { to: ['anna@example.org'], subject: 'x', body: 'y', attachments: [{ filename: 'a.txt', content }] };
    expect(codeOf(await call('send_email', params))).toBe('PERMISSION_DENIED');
    expect(audited.length).toBeGreaterThan(0);
    expect(JSON.stringify(audited)).not.toContain(content);
  });
});

describe('a configuration that cannot be', () => {
  const opened = (config: object, env: NodeJS.ProcessEnv = {}) => expect(() => messagesFixture(config, { env }));
  const invalid = (text: string) => expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining(text) });

  test.each([
    ['two kinds in one way', toAnna({ a: { ntfy: { url: 'https://n/x' }, email: { to: 'a@b.example' } } }), 'ways'],
    ['an unknown kind', toAnna({ a: { pigeon: {} } }), 'pigeon'],
    ['a recipient without ways', toAnna({}), 'ways'],
    ['a secret in clear', { slack: { token: 'xoxb-1' } }, 'slack.token'],
    ['an address of mail that is none', { email: { ...email, from: 'Hub <hub@example.org>' } }, 'email.from'],
    ['a topic with a wildcard', toAnna({ a: { mqtt: { topic: 'a/#' } } }), 'topic'],
  ])('%s is told with its line', (_, config, text) => {
    expect(() => messagesConfig(config)).toThrow(invalid(text));
    expect(() => messagesConfig(config)).toThrow(invalid('line 1'));
  });

  test('a service that a way needs and nobody configured', () => {
    opened(toAnna(mail)).toThrow(invalid('set connectors.email'));
    opened(toAnna({ a: { mqtt: { topic: 'a' } } })).toThrow(invalid('set connectors.mqtt'));
  });

  test('a secret that is not there, or that others may read', () => {
    opened({ slack: { token: 'env:NONE' } }).toThrow(invalid('env:NONE'));
    const folder = mkdtempSync(join(tmpdir(), 'atmo-secret-'));
    const file = join(folder, 'token');
    writeFileSync(file, 'xoxb-1', { mode: 0o644 });
    opened({ slack: { token: `file:${file}` } }).toThrow(invalid('chmod 600'));
    rmSync(folder, { recursive: true });
  });

  test('an order of ways that are none, and a name that two have', () => {
    opened({ email, ...toAnna(mail, { order: { critical: ['phone'] } }) }).toThrow(invalid('phone'));
    const recipients = { anna: { also: ['@a'], ways: mail }, bert: { also: ['@A'], ways: mail } };
    opened({ email, notify: { recipients } }).toThrow(invalid('both anna and bert'));
  });

  test('a password that would go out in clear, or stands in an address', () => {
    opened({ email: { ...email, security: 'none', user: 'u', password: 'env:P' } }, { P: 'x' }).toThrow(invalid('clear text'));
    opened({ email: { ...email, user: 'u' } }).toThrow(invalid('belong together'));
    opened(toAnna({ a: { webhook: { url: 'https://me:secret@example.org/' } } })).toThrow(invalid('user or password'));
  });

  test('text messages with a secret that is missing, or a form of lists; ntfy without a topic', () => {
    const sms = { url: 'https://sms.example.org', body: { to: '{phone}' }, id_at: '/id' };
    opened({ sms: { ...sms, headers: { Authorization: 'Bearer {secret}' } } }).toThrow(invalid('connectors.sms.secret'));
    opened({ sms: { ...sms, format: 'form', body: { to: ['{phone}'] } } }).toThrow(invalid('format to json'));
    for (const path of ['/', '/%zz', '/%']) opened(toAnna({ a: { ntfy: { url: `https://ntfy.sh${path}` } } })).toThrow(invalid('no topic'));
  });

  test.each(['https://ntfy.sh//anna', 'https://ntfy.sh///anna', 'https://ntfy.sh//a/anna'])(
    '%s is no mistake: its path is a path',
    (url) => {
      opened(toAnna({ a: { ntfy: { url } } })).not.toThrow();
    },
  );

  test('commands of the broker without permissions, or TLS of a broker without TLS', () => {
    const mqtt = { url: 'mqtt://broker' };
    const readings = { sensors: () => [], current: () => undefined };
    expect(() => messagesFixture({ mqtt: { ...mqtt, bridge: { commands: true } } }, { readings })).toThrow(invalid('needs permissions'));
    opened({ mqtt: { ...mqtt, ca_file: '/etc/ca.pem' } }).toThrow(invalid('mqtts'));
  });
});
