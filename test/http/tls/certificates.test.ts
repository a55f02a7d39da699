import { createPrivateKey, X509Certificate } from 'node:crypto';
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { HubProblems } from '../../../src/core/health.ts';
import { createLogger } from '../../../src/core/logger.ts';
import { CertificateManager } from '../../../src/http/tls/certificate-manager.ts';
import { OwnCertificates, TlsFiles } from '../../../src/http/tls/own-certificates.ts';
import {
  covers,
  makeAuthority,
  makeServerCertificate,
  nameScopeFor,
  nameScopeOf,
  namesIn,
  namesOf,
  permits,
} from '../../../src/http/tls/x509.ts';
import { ManualClock } from '../../manual-clock.ts';

const DAY_MS = 86_400_000;
const NOW_MS = Date.UTC(2026, 5, 1);
const VALIDITY = { fromMs: NOW_MS, untilMs: NOW_MS + 30 * DAY_MS };

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'certificates-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

describe('a certificate that the hub makes', () => {
  test('is read by OpenSSL as what it was meant to be', () => {
    const authority = makeAuthority('an authority', nameScopeFor([]), { fromMs: NOW_MS, untilMs: Date.UTC(2055, 0, 1) });
    const root = new X509Certificate(authority.certificate);
    expect([root.ca, root.subject, root.issuer]).toEqual([true, 'CN=an authority', 'CN=an authority']);
    expect(Date.parse(root.validTo)).toBe(Date.UTC(2055, 0, 1));
    const names = ['hub.local', '192.168.1.5', 'fd00:77::1', '::1'];
    const made = makeServerCertificate({ name: 'an authority', key: createPrivateKey(authority.key) }, names, VALIDITY);
    const leaf = new X509Certificate(made.certificate);
    expect([leaf.ca, leaf.verify(root.publicKey), leaf.checkIssued(root)]).toEqual([false, true, true]);
    expect(leaf.checkPrivateKey(createPrivateKey(made.key))).toBe(true);
    expect([leaf.checkHost('hub.local'), leaf.checkIP('192.168.1.5'), leaf.checkIP('fd00:77::1')]).toEqual([
      'hub.local',
      '192.168.1.5',
      'fd00:77::1',
    ]);
    expect(leaf.checkHost('evil.example')).toBeUndefined();
    expect(leaf.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1']);
    expect(namesIn(leaf)).toEqual(names);
    expect([Date.parse(leaf.validFrom), Date.parse(leaf.validTo)]).toEqual([VALIDITY.fromMs, VALIDITY.untilMs]);
    expect(makeAuthority('another', [], VALIDITY).certificate).not.toBe(makeAuthority('another', [], VALIDITY).certificate);
  });
});

describe('the names of a hub', () => {
  const addresses = [
    { address: '127.0.0.1', internal: true },
    { address: '192.168.1.5', internal: false },
    { address: 'fe80::1', internal: false },
    { address: 'fd00::5', internal: false },
  ];

  test('are those of the owner, of the machine and of its addresses', () => {
    expect(namesOf({ host: '0.0.0.0', configured: ['Hub.Example'], hostName: 'Attic', addresses })).toEqual([
      'hub.example',
      'attic.local',
      'attic',
      '192.168.1.5',
      'fd00::5',
      'localhost',
      '127.0.0.1',
      '::1',
    ]);
    expect(namesOf({ host: '192.168.1.5', configured: [], hostName: 'no name!', addresses })).toEqual([
      '192.168.1.5',
      'localhost',
      '127.0.0.1',
      '::1',
    ]);
  });

  test('cover what a client asks for, and nothing near it', () => {
    const names = ['*.home.example', 'attic.local', 'fd00::5'];
    for (const name of ['a.home.example', 'ATTIC.local', 'fd00:0::5', 'localhost', '127.0.0.1'])
      expect([name, covers(names, name)]).toEqual([name, true]);
    for (const name of ['a.b.home.example', 'home.example', 'attic.local.evil.example', 'xattic.local', 'fd00::6', '192.168.1.5']) {
      expect([name, covers(names, name)]).toEqual([name, false]);
    }
  });
});

describe("the hub's own certificates", () => {
  let names = ['attic.local'];
  let configured: readonly string[] = [];
  const open = () =>
    new OwnCertificates(new TlsFiles(join(directory, 'tls'), () => {}), { all: () => [...configured, ...names], configured });
  beforeEach(() => {
    names = ['attic.local'];
    configured = [];
  });

  test('are made once, for ten years and 397 days, and nobody else may read them', () => {
    const first = open().current(NOW_MS);
    expect(first.madeBecause).toBe('there was none');
    expect(open().current(NOW_MS + DAY_MS)).toEqual({ ...first, madeBecause: undefined });
    const root = new X509Certificate(first.authority ?? '');
    expect(Date.parse(root.validTo)).toBe(NOW_MS + 3_650 * DAY_MS);
    const leaf = new X509Certificate(first.chain);
    expect(Date.parse(leaf.validTo) - Date.parse(leaf.validFrom)).toBe(397 * DAY_MS);
    for (const file of ['ca.crt', 'ca.key', 'server.crt', 'server.key'])
      expect(statSync(join(directory, 'tls', file)).mode & 0o777).toBe(0o600);
    expect(statSync(join(directory, 'tls')).mode & 0o777).toBe(0o700);
  });

  test('follow time and names; the authority stays', () => {
    const { authority } = open().current(NOW_MS);
    expect(open().current(NOW_MS + 370 * DAY_MS)).toMatchObject({ authority, madeBecause: 'it ends soon' });
    names = ['attic.local', '10.0.0.9'];
    expect(open().current(NOW_MS + 370 * DAY_MS)).toMatchObject({ authority, madeBecause: 'the hub is also reached as 10.0.0.9', names });
    names = ['10.0.0.9'];
    expect(open().current(NOW_MS + 370 * DAY_MS).madeBecause).toBeUndefined();
  });

  test('made by a clock that was years ahead or behind are right once the clock is', () => {
    const ahead = open().current(Date.UTC(2037, 0, 1));
    const now = open().current(NOW_MS);
    expect(now).toMatchObject({ authority: ahead.authority, madeBecause: 'the clock was ahead when it was made' });
    expect(Date.parse(new X509Certificate(now.authority ?? '').validFrom)).toBeLessThan(NOW_MS);
    rmSync(join(directory, 'tls'), { recursive: true });
    const behind = open().current(Date.UTC(2025, 0, 2));
    expect(open().current(NOW_MS)).toMatchObject({ authority: behind.authority, madeBecause: 'it ends soon' });
  });

  test('a damaged certificate comes back from its copy; without one a server certificate is made anew, an authority is left to people', () => {
    const { authority } = open().current(NOW_MS);
    const chain = readFileSync(join(directory, 'tls/server.crt'), 'utf8');
    writeFileSync(join(directory, 'tls/server.crt'), 'torn');
    expect(open().current(NOW_MS)).toMatchObject({ authority, chain: expect.stringContaining(chain.trim()) });
    writeFileSync(join(directory, 'tls/server.crt'), 'torn');
    rmSync(join(directory, 'tls/snapshots'), { recursive: true });
    expect(open().current(NOW_MS)).toMatchObject({ authority, madeBecause: 'there was none' });
    const key = readFileSync(join(directory, 'tls/ca.key'), 'utf8');
    writeFileSync(join(directory, 'tls/ca.key'), 'torn');
    rmSync(join(directory, 'tls/snapshots'), { recursive: true });
    expect(() => open().current(NOW_MS)).toThrow(
      expect.objectContaining({ code: 'STORAGE_FAILED', message: expect.stringContaining('backup') }),
    );
    writeFileSync(join(directory, 'tls/ca.key'), key);
    chmodSync(join(directory, 'tls/ca.key'), 0o644);
    expect(() => open().current(NOW_MS)).toThrow(/chmod 600/);
  });

  test('are not served while others can read a copy of a key', () => {
    open().current(NOW_MS);
    const copy = join(directory, 'tls/snapshots/server.key.kept');
    chmodSync(copy, 0o640);
    expect(() => open().current(NOW_MS)).toThrow(
      expect.objectContaining({ code: 'STORAGE_FAILED', message: expect.stringContaining(`chmod 600 ${copy}`) }),
    );
  });

  test('that are no authority and its key are to be deleted together with their copies, which would bring them back', () => {
    open().current(NOW_MS);
    const tls = join(directory, 'tls');
    rmSync(join(tls, 'snapshots'), { recursive: true });
    const other = makeAuthority('another', [], VALIDITY);
    writeFileSync(join(tls, 'ca.key'), other.key, { mode: 0o600 });
    const files = ['ca.crt', 'ca.key', 'snapshots/ca.crt.kept', 'snapshots/ca.key.kept'].map((file) => join(tls, file));
    const problem = () => {
      try {
        open().current(NOW_MS);
      } catch (thrown) {
        return String(thrown);
      }
      return '';
    };
    for (const file of files) expect(problem()).toContain(file);
    for (const file of files) rmSync(file);
    expect(problem()).toBe('');
  });

  test('the authority vouches for this home alone, and gives way when the owner gives the hub a name outside of it', () => {
    names = ['attic', 'attic.local', '192.168.1.5', '203.0.113.9'];
    const { authority = '' } = open().current(NOW_MS);
    const scope = nameScopeOf(new X509Certificate(authority)) ?? [];
    expect(scope).toEqual(nameScopeFor(names));
    for (const name of ['attic', 'other.local', '10.9.8.7', 'fd00::1', '2001:db8::1', '203.0.113.9', '::1', 'localhost', '172.31.0.1'])
      expect([name, permits(scope, name)]).toEqual([name, true]);
    for (const name of ['bank.example', 'example', 'local.example', 'notlocal', '8.8.8.8', '203.0.113.10', '172.32.0.1'])
      expect([name, permits(scope, name)]).toEqual([name, false]);
    names = ['moved', 'attic.local', '198.51.100.1'];
    expect(open().current(NOW_MS)).toMatchObject({ authority, names: ['attic', 'attic.local', '192.168.1.5', '203.0.113.9'] });
    configured = ['hub.mine.example'];
    const wider = open().current(NOW_MS);
    expect(wider.names).toEqual(['hub.mine.example', 'moved', 'attic.local', '198.51.100.1']);
    expect(wider.authority).not.toBe(authority);
  });

  test('an authority that ends gives way to a new one', () => {
    const { authority } = open().current(NOW_MS);
    const later = open().current(NOW_MS + 3_640 * DAY_MS);
    expect(later.authority).not.toBe(authority);
    expect(later.madeBecause).toBe('the authority is another one');
  });
});

describe('the certificates of the certificate', () => {
  const make = (files?: { certificateFile: string; keyFile: string }) => {
    const clock = new ManualClock(NOW_MS);
    const logged: string[] = [];
    const warnings: string[] = [];
    const ahead = { ms: 0 };
    const machine = { hostName: 'attic', addresses: [{ address: '10.0.0.9', internal: false }] };
    const events = { emit: (_type: string, _subject: string, data?: object) => warnings.push(JSON.stringify(data)) };
    const logger = createLogger('debug', (line) => logged.push(line));
    const options = { directory: join(directory, 'tls'), names: ['mine.example'], host: '0.0.0.0', ...(files && { files }) };
    return {
      clock,
      ahead,
      machine,
      logged,
      warnings,
      certificates: new CertificateManager(
        { clock, time: { now: () => clock.now() + ahead.ms }, logger, events, problems: new HubProblems(), machine: () => machine },
        options,
      ),
    };
  };

  test('serves another one within a minute when the machine gets another address', async () => {
    const { clock, machine, certificates, logged } = make();
    await certificates.start();
    const told: (readonly string[])[] = [];
    certificates.onChange(({ names }) => told.push(names));
    clock.advance(60_000);
    machine.addresses = [{ address: '10.0.0.10', internal: false }];
    expect(certificates.isOwnName('10.0.0.10')).toBe(false);
    clock.advance(60_000);
    expect([certificates.isOwnName('10.0.0.10'), certificates.isOwnName('mine.example'), certificates.isOwnName('evil.example')]).toEqual([
      true,
      true,
      false,
    ]);
    expect(told).toEqual([expect.arrayContaining(['10.0.0.10'])]);
    expect(logged.join('')).not.toContain('PRIVATE KEY');
    expect(certificates.facts().fingerprint).toMatch(/^([0-9A-F]{2}:){31}[0-9A-F]{2}$/);
    const { authority, fingerprint, source } = certificates.facts();
    expect([source, fingerprint]).toEqual(['own-authority', new X509Certificate(authority?.pem ?? '').fingerprint256]);
    await certificates[Symbol.asyncDispose]();
  });

  test('a new authority, which every client has to trust anew, is told to the owner', async () => {
    const { clock, ahead, certificates, warnings } = make();
    await certificates.start();
    const { fingerprint } = certificates.facts();
    expect(warnings).toEqual([]);
    ahead.ms = 3_640 * DAY_MS;
    clock.advance(60_000);
    expect(certificates.facts().fingerprint).not.toBe(fingerprint);
    expect(warnings).toEqual([expect.stringContaining(`trust anew: ${certificates.facts().fingerprint}`)]);
    await certificates[Symbol.asyncDispose]();
  });

  test("the owner's own files are followed; what is wrong with them is told once and the old certificate stays", async () => {
    const files = { certificateFile: join(directory, 'own.crt'), keyFile: join(directory, 'own.key') };
    const write = (name: string) => {
      const { certificate, key } = makeAuthority(name, nameScopeFor(['mine.example']), VALIDITY);
      writeFileSync(files.certificateFile, certificate);
      writeFileSync(files.keyFile, key);
    };
    const { clock, certificates, warnings } = make(files);
    await expect(certificates.start()).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('certificate_file'),
    });
    write('one');
    await certificates.start();
    const { fingerprint } = certificates.facts();
    expect([certificates.facts().source, certificates.facts().authority]).toEqual(['files', undefined]);
    writeFileSync(files.keyFile, makeAuthority('two', [], VALIDITY).key);
    clock.advance(180_000);
    expect(certificates.facts().fingerprint).toBe(fingerprint);
    expect(warnings).toEqual([expect.stringContaining('not the one of the certificate')]);
    write('three');
    clock.advance(60_000);
    expect(certificates.facts().fingerprint).not.toBe(fingerprint);
    await certificates[Symbol.asyncDispose]();
  });
});
