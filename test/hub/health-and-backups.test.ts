import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stateArchive } from '../../src/hub/offline/backup.ts';
import { ManualClock } from '../manual-clock.ts';
import { MemoryNetwork } from '../mesh/memory-network.ts';
import { WholeHub } from './whole-hub.ts';

const PASSPHRASE = 'five words that nobody guesses';
const elsewhere = mkdtempSync(join(tmpdir(), 'atmo-restored-'));
const clock = new ManualClock(Date.now());
const home = new WholeHub({ clock, network: new MemoryNetwork({ clock }), rules: 'default: allow\nrules: []\n' });
beforeAll(() => home.hub.start());
afterAll(async () => {
  await home[Symbol.asyncDispose]();
  rmSync(elsewhere, { recursive: true, force: true });
});

test('a backup that the hub writes itself restores, and no answer tells its passphrase', async () => {
  expect((await home.call('hub:make_backup')).error).toMatchObject({ code: 'NOT_CONFIGURED' });
  const set = await home.call('hub:set_backup_schedule', { at: '03:30', passphrase: PASSPHRASE });
  expect(set.result).toMatchObject({ schedule: { at: '03:30', keep: 7 }, on_same_disk: true, backups: [] });
  const { result } = await home.call('hub:make_backup');
  expect(statSync(result.file).mode & 0o777).toBe(0o600);
  const shown = await home.call('hub:show_backups');
  expect(shown.result).toMatchObject({ last_success_at: result.made_at, backups: [{ file: result.file, bytes: result.bytes }] });
  expect(JSON.stringify([set, shown, await home.call('hub:list_audit', { limit: 50 })])).not.toContain(PASSPHRASE);
  const stateDir = join(elsewhere, 'state');
  const archive = stateArchive({ ATMO_STATE_DIR: stateDir });
  await expect(archive.restore({ stateDir, file: result.file, passphrase: 'a wrong passphrase' })).rejects.toMatchObject({
    code: 'PERMISSION_DENIED',
  });
  expect((await archive.restore({ stateDir, file: result.file, passphrase: PASSPHRASE })).hub).toMatch(/^hub-/);
}, 30_000);

test('the hub runs the checks of atmo doctor, each with what to do', async () => {
  const { result } = await home.call('hub:check_health');
  const named = (name: string) => result.checks.find(({ check }: { readonly check: string }) => check === name);
  expect(named('devices')).toMatchObject({ section: 'Home', state: 'ok' });
  expect(named('half commissioned devices')).toMatchObject({ state: 'ok', found: expect.stringContaining('Matter is off') });
  expect(named('approvers')).toMatchObject({ section: 'Decisions' });
  expect(named('backups')).toMatchObject({ state: 'warning', advice: expect.stringContaining('backup.folder') });
  expect(named('journal')).toMatchObject({ state: 'ok' });
  for (const section of ['Machine', 'Network', 'State']) {
    expect(result.checks.map((check: { readonly section: string }) => check.section)).toContain(section);
  }
  for (const { state, advice } of result.checks) if (state !== 'ok') expect(advice).toEqual(expect.any(String));
});

test('a hub that no other machine reaches says that it gets no certificate for its name', async () => {
  const acme = { names: ['hub.example.org'], agree_to_terms: true, dns_command: ['/etc/dns-record'] };
  const config = { http: { tls: { acme } } };
  await using unreached = new WholeHub({ clock, network: new MemoryNetwork({ clock }), rules: 'rules: []\n', config });
  await unreached.hub.start();
  const { problems } = await unreached.ask('/healthz');
  expect(problems).toEqual([expect.stringContaining('http.tls.acme in the configuration has no effect')]);
});

test('the health and the backups of the hub are for its administrators alone', async () => {
  const { token } = await home.ask('/api/v1/tokens', { body: { agent_id: 'guest', permissions: ['device:read:*'] } });
  for (const tool of ['hub:check_health', 'hub:show_backups', 'hub:make_backup']) {
    const { code, error } = await home.call(tool, {}, token);
    expect(code ?? error.code).toMatch(/TOOL_NOT_FOUND|PERMISSION_DENIED/);
  }
});
