import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/core/json.ts';
import { makeHttpApi, TOKEN } from '../../http/http-fixture.ts';
import { atmo, fetchFrom } from '../cli-fixture.ts';

const FILE = '/backups/atmosphere-hub-1-20260102T023000Z.atmo';
const SET: JsonObject = {
  folder: '/backups',
  on_same_disk: true,
  schedule: { at: '03:30', keep: 7 },
  next_at: '2026-01-03T02:30:00.000Z',
  last_success_at: '2026-01-02T02:30:00.000Z',
  problem: 'The last backup failed: The disk is full',
  backups: [{ file: FILE, made_at: '2026-01-02T02:30:00.000Z', bytes: 2_097_152 }],
};

/** A hub with these backups, and what it was asked. */
function makeHub(shown: JsonObject) {
  const setup = makeHttpApi();
  const asked: [string, JsonObject][] = [];
  const answers: Record<string, JsonObject> = {
    show_backups: shown,
    make_backup: { file: FILE, made_at: '2026-01-02T02:30:00.000Z', bytes: 2_097_152 },
    set_backup_schedule: SET,
  };
  for (const [name, answer] of Object.entries(answers)) {
    const handler = async (params: JsonObject) => {
      asked.push([name, params]);
      return answer;
    };
    setup.addTool({ name, namespace: 'hub', parameters: { type: 'object' }, handler });
  }
  const run = (line: string, env = {}) => atmo(line.split(' '), { fetch: fetchFrom(setup.httpApi), env: { ATMO_TOKEN: TOKEN, ...env } });
  return { run, asked };
}

describe('atmo backups', () => {
  test('shows when the hub writes them, what went wrong and which there are', async () => {
    const { out } = await makeHub(SET).run('backups');
    expect(out).toMatch(/^Every day at 03:30.*\nFolder: \/backups \(on the disk of the hub/);
    expect(out).toContain('The last backup failed: The disk is full\n');
    expect(out).toMatch(/20260102T023000Z\.atmo .*2\.0 MB/);
    expect((await makeHub({ folder: '/b', on_same_disk: false, backups: [] }).run('backups')).out).toBe(
      'The hub writes no backup by itself\nFolder: /b\n',
    );
  });

  test('now says where the new one is', async () => {
    expect((await makeHub(SET).run('backups now')).out).toBe(`${FILE} is there: 2.0 MB\n`);
  });

  test('schedule asks for a passphrase only the first time, or for another one', async () => {
    const passphrase = 'five words that nobody guesses';
    const first = makeHub({ folder: '/b', backups: [] });
    await first.run('backups schedule 03:30 --keep 14', { ATMO_PASSPHRASE: passphrase });
    expect(first.asked.at(-1)).toEqual(['set_backup_schedule', { at: '03:30', keep: 14, passphrase }]);
    expect((await makeHub({ folder: '/b', backups: [] }).run('backups schedule 03:30')).code).toBe(2);
    const wrong = makeHub(SET);
    expect((await wrong.run('backups schedule 03:30 --keep many')).code).toBe(2);
    expect(wrong.asked).not.toContainEqual(expect.arrayContaining(['set_backup_schedule']));
    const later = makeHub(SET);
    await later.run('backups schedule 04:00');
    expect(later.asked.at(-1)).toEqual(['set_backup_schedule', { at: '04:00' }]);
  });
});
