import { expect, test } from 'vitest';
import { createLogger, redact } from '../../src/core/logger.ts';

test('setup codes, tokens and long hex secrets never reach a line', () => {
  const lines: string[] = [];
  const logger = createLogger('info', (line) => lines.push(line));
  logger.info('commissioning', { text: 'code MT:Y.K90AFN00KA0648G00 or 3497-011-2332 or 34970112332', token: 'x' });
  logger.info('auth', { text: `Bearer at0.${'a'.repeat(43)}`, nested: { pin: '1234', list: [`ipk ${'ab'.repeat(32)}`] } });
  const all = lines.join('');
  for (const secret of ['Y.K90AFN', '3497-011', '34970112332', 'aaaaaaaa', '1234"', 'abababab']) expect(all).not.toContain(secret);
  expect(lines).toHaveLength(2);
});

test('a private key is cut whole, also one that was cut short, and what a signature says stays', () => {
  const pem = '-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ\n-----END PRIVATE KEY-----';
  expect(redact(`read ${pem} of owner.key`)).toBe('read [redacted] of owner.key');
  expect(redact(`read ${pem.slice(0, 45)}`)).toBe('read [redacted]');
  expect(redact({ passphrase: 'sesame', private_key: 'MC4', qr_code: 'MT', manual_code: 1, bearer: 'x' })).toEqual(
    Object.fromEntries(['passphrase', 'private_key', 'qr_code', 'manual_code', 'bearer'].map((name) => [name, '[redacted]'])),
  );
  expect(redact({ signature: 'hEOhASegWCA' })).toEqual({ signature: 'hEOhASegWCA' });
});

test('invites into a mesh and exported root keys never reach a line', () => {
  const text = redact(`joining with atmo-join1.pQFYINBGkDcdXFc_NoQW1T and atmo-root1.AAAAaaaaBBBBbbbb0123`);
  expect(text).toBe('joining with [redacted] and [redacted]');
});

test('a field that is merely named like a secret but says yes or no stays readable', () => {
  const hash = 'ab'.repeat(32);
  expect(redact({ call_hash: hash, hash, dataset_hex: hash, hash_input: hash, text_hash: `${hash}!` })).toEqual({
    call_hash: hash,
    hash,
    dataset_hex: '[redacted]',
    hash_input: '[redacted]',
    text_hash: '[redacted]!',
  });
  expect(redact({ pin: true, note: 'ok' })).toEqual({ pin: true, note: 'ok' });
});

test('lines below the level are not written, and children add their fields', () => {
  const lines: string[] = [];
  const logger = createLogger('warn', (line) => lines.push(line)).child({ module: 'matter' });
  logger.info('quiet');
  logger.warn('loud', { device: 'x' });
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ level: 'warn', event: 'loud', module: 'matter', device: 'x' }]);
});

test('the code of an error stays readable', () => {
  expect(redact({ code: 'STORAGE_FAILED', setup_code: '20202021' })).toEqual({ code: 'STORAGE_FAILED', setup_code: '[redacted]' });
});
