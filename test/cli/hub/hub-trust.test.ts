import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { tlsCommands } from '../../../src/cli/commands/hub.ts';
import { trustedAuthority } from '../../../src/cli/hub/hub-trust.ts';
import { hubUrl } from '../../../src/cli/identity/credential.ts';
import { OwnCertificates, TlsFiles } from '../../../src/http/tls/own-certificates.ts';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'trust-'));
});
afterEach(() => rmSync(home, { recursive: true }));

describe('the address of a hub on this machine', () => {
  test.each([
    [{}, 'http://127.0.0.1:8081'],
    [{ ATMO_HTTP_HOST: '0.0.0.0' }, 'http://127.0.0.1:8081'],
    [{ ATMO_HTTP_HOST: '::' }, 'http://127.0.0.1:8081'],
    [{ ATMO_HTTP_HOST: '192.168.1.5', ATMO_HTTP_PORT: '9000' }, 'http://127.0.0.1:9000'],
    [{ ATMO_HTTP_HOST: '::1' }, 'http://[::1]:8081'],
    [{ ATMO_URL: 'https://hub.local:8081/' }, 'https://hub.local:8081'],
  ])('%j is %s', (env, url) => {
    expect(hubUrl(env)).toBe(url);
  });
});

test.each(['http://192.168.1.9:8081', 'http://hub.local:8081', 'http://127.0.0.1.evil.example:8081', 'http://user@10.0.0.1'])(
  'another machine is never asked in clear: %s',
  (url) => {
    expect(() => hubUrl({ ATMO_URL: url })).toThrow(
      expect.objectContaining({ code: 'VALIDATION_ERROR', message: expect.stringContaining('in clear') }),
    );
  },
);

test('the authority of a hub of this machine is trusted at once, that of another machine is unknown', () => {
  const stateDir = join(home, 'state');
  const { authority } = new OwnCertificates(new TlsFiles(join(stateDir, 'tls'), () => {}), {
    all: () => ['hub.local'],
    configured: [],
  }).current(Date.now());
  const url = new URL('https://hub.local:8081');
  expect(trustedAuthority({ HOME: home, ATMO_STATE_DIR: stateDir }, url)).toBe(authority);
  expect(trustedAuthority({ HOME: home, ATMO_STATE_DIR: join(home, 'none') }, url)).toBeUndefined();
});

test('an invalid fingerprint is wrong usage, and an address without TLS is rejected', async () => {
  const trust = tlsCommands.find(({ name }) => name === 'tls trust');
  const run = (fingerprint: string, env: object) => trust?.run({ io: { env }, operands: [fingerprint] } as never);
  await expect(run('AB:CD', {})).rejects.toMatchObject({ code: 'VALIDATION_ERROR', message: expect.stringContaining('hexadecimal') });
  await expect(run('AB'.repeat(32), { HOME: home })).rejects.toMatchObject({ message: expect.stringContaining('without TLS') });
});
