import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createLogger, type LogLevel } from '../../../src/core/logger.ts';
import { checkConfigFile } from '../../../src/hub/config/config-check.ts';
import { liveConfig } from '../../../src/hub/config/live-config.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'atmo-config-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const write = (text: string) => writeFileSync(join(dir, 'config.yaml'), text);
const guard = (permission: string) => `roles: {guard: {permissions: ["${permission}"]}}`;

test('what a room holds on to changes with the file', () => {
  write(`tools: {disabled: [a], features: {x: [lab]}}\n${guard('device:control:*')}`);
  const config = liveConfig({}, dir);
  const { tools, roles } = config;
  write('log: debug\ntools: {disabled: [b, c], fail_over: [d]}\nroles: {other: {permissions: ["sensor:read:*"]}}');
  const applied = ['log', 'roles.guard', 'roles.other', 'tools.disabled', 'tools.fail_over', 'tools.features.x'];
  expect(config.reload().applied.toSorted()).toEqual(applied);
  expect(tools.failOver).toEqual(['d']);
  expect([tools.disabled, tools.features, Object.keys(roles), config.log.level]).toEqual([['b', 'c'], {}, ['other'], 'debug']);
});

test('what takes a restart is told until it comes, and keeps its value', () => {
  write('http: {port: 9000}');
  const config = liveConfig({}, dir);
  write('http: {port: 9001}\nmatter: {ble: true}');
  const waiting = { applied: [], needsRestart: ['http.port', 'matter.ble'] };
  expect([config.reload(), config.reload()]).toEqual([waiting, waiting]);
  expect([config.http.port, config.matter.isBleEnabled]).toEqual([9000, false]);
  write('http: {port: 9000}');
  expect(config.reload()).toEqual({ applied: [], needsRestart: [] });
});

test.each([
  ['a key that is not known', 'tools: {disabled: [b]}\nlogs: debug', /config\.yaml, line 2: unknown key "logs"/],
  ['text that is no YAML', 'tools: {disabled: [b]', /config\.yaml, line 1/],
  ['a role that holds what cannot be granted', `tools: {disabled: [b]}\n${guard('device:*:x')}`, /guard/],
])('a file with %s changes nothing', async (_what, text, problem) => {
  write('tools: {disabled: [a]}');
  const config = liveConfig({}, dir);
  write(text);
  expect(() => config.reload()).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringMatching(problem) }));
  expect(config.tools.disabled).toEqual(['a']);
  expect(await checkConfigFile({ ATMO_STATE_DIR: dir })).toEqual({
    file: join(dir, 'config.yaml'),
    problem: expect.stringMatching(problem),
  });
});

test.each([
  ['is gone', () => rmSync(join(dir, 'config.yaml')), /config\.yaml is gone; to have the defaults, write "\{\}" into it/],
  ['is empty', () => write(' \n'), /config\.yaml is empty; to have the defaults/],
  ['is full of zeros', () => write('\0'.repeat(200)), /config\.yaml is empty; to have the defaults/],
  ['is cut in the middle', () => write('tools: {disabled: [a'), /config\.yaml, line 1/],
  ['is a folder', () => [rmSync(join(dir, 'config.yaml')), mkdirSync(join(dir, 'config.yaml'))], /EISDIR/],
])(
  'settings with which a hub has started hold on when their file %s, which is told until the file is right again',
  (_what, damage, fault) => {
    write('tools: {disabled: [a]}');
    liveConfig({}, dir).keep();
    damage();
    for (let starts = 0; starts < 2; starts++) {
      const config = liveConfig({}, dir);
      expect([config.tools.disabled, config.problem()]).toEqual([['a'], expect.stringMatching(fault)]);
      expect(() => config.reload()).toThrow(expect.objectContaining({ message: expect.stringMatching(fault) }));
      config.keep();
    }
    const config = liveConfig({}, dir);
    config.keep();
    rmSync(join(dir, 'config.yaml'), { recursive: true, force: true });
    write('{}');
    expect([config.reload().applied, config.tools.disabled, config.problem()]).toEqual([['tools.disabled'], [], undefined]);
    rmSync(join(dir, 'config.yaml'));
    expect(liveConfig({}, dir).tools.disabled).toEqual([]);
  },
);

test('a file that the hub has taken as one without settings can be removed', () => {
  for (const text of ['tools: {disabled: [a]}', '{}\n']) {
    write(text);
    liveConfig({}, dir).keep();
  }
  rmSync(join(dir, 'config.yaml'));
  for (const env of [{}, { ATMO_CONFIG: join(dir, 'config.yaml') }]) {
    const config = liveConfig(env, dir);
    expect([config.tools.disabled, config.problem()]).toEqual([[], undefined]);
  }
});

const DAMAGES: readonly (readonly [string, (copy: string) => unknown])[] = [
  ['damaged', (copy) => writeFileSync(copy, '{"sha256":')],
  ['replaced by a folder', (copy) => [rmSync(copy), mkdirSync(copy)]],
];

test.each(
  DAMAGES.flatMap(
    ([damaged, damage]) =>
      [
        ['is gone', damaged, () => rmSync(join(dir, 'config.yaml')), damage],
        ['is empty', damaged, () => write(''), damage],
      ] as const,
  ),
)('a file that %s while the kept settings are %s is refused, and no hub starts with the defaults', (_what, _damaged, lose, damage) => {
  write('tools: {disabled: [a]}');
  liveConfig({}, dir).keep();
  damage(keptSettings());
  expect(liveConfig({}, dir).tools.disabled).toEqual(['a']);
  lose();
  for (let starts = 0; starts < 2; starts++)
    expect(() => liveConfig({}, dir)).toThrow(/config\.yaml is (gone|empty); to have the defaults, write "\{\}" into it/);
  write('{}');
  liveConfig({}, dir).keep();
  rmSync(join(dir, 'config.yaml'));
  expect(liveConfig({}, dir).problem()).toBeUndefined();
});

/** Returns the path of the settings that were kept. */
function keptSettings(): string {
  const [copy = ''] = readdirSync(join(dir, 'snapshots')).filter((name) => name.startsWith('config.yaml'));
  return join(dir, 'snapshots', copy);
}

test('a file that was empty from the first start on says that there are no settings, at every start', () => {
  write('');
  for (let starts = 0; starts < 2; starts++) {
    const config = liveConfig({}, dir);
    expect([config.tools.disabled, config.problem()]).toEqual([[], undefined]);
    config.keep();
  }
  rmSync(join(dir, 'config.yaml'));
  expect(liveConfig({}, dir).problem()).toBeUndefined();
});

test.each([
  ['what waits for a restart', 'http: {port: 9002}\ntools: {disabled: [b]}', 9001, ['a']],
  ['what holds at once', 'http: {port: 9001}\ntools: {disabled: [b]}', 9001, ['b']],
])('of a file that was read again while the hub ran, a loss keeps that with which a hub has run: %s', (_what, text, port, disabled) => {
  write('http: {port: 9001}\ntools: {disabled: [a]}');
  const config = liveConfig({}, dir);
  config.keep();
  write(text);
  config.reload();
  rmSync(join(dir, 'config.yaml'));
  const next = liveConfig({}, dir);
  expect([next.http.port, next.tools.disabled]).toEqual([port, disabled]);
});

test('settings that are read again before the hub has started count after a loss only when it has', () => {
  write('tools: {disabled: [a]}');
  const config = liveConfig({}, dir);
  write('tools: {disabled: [b]}');
  config.reload();
  write('http: {port: 9002}');
  config.reload();
  rmSync(join(dir, 'config.yaml'));
  expect(liveConfig({}, dir).tools.disabled).toEqual([]);
  config.keep();
  expect([liveConfig({}, dir).tools.disabled, liveConfig({}, dir).http.port]).toEqual([['b'], 8081]);
});

test('settings of a start that came to nothing are not kept: a file with mistakes is refused where no hub has started with it', () => {
  write('tools: {disabled: [a]}');
  liveConfig({}, dir);
  write('tools: {disabled: [a');
  expect(() => liveConfig({}, dir)).toThrow(/config\.yaml, line 1/);
});

test('a file that the configuration names and that is not there is a mistake of it', async () => {
  write('profiles: own');
  const problem = `profiles in the configuration names ${join(dir, 'own')}, which does not exist`;
  expect(await checkConfigFile({ ATMO_STATE_DIR: dir })).toEqual({ file: join(dir, 'config.yaml'), problem });
});

test('the environment wins over a file that changes', () => {
  write('log: info');
  const config = liveConfig({ ATMO_LOG: 'warn' }, dir);
  write('log: debug');
  config.reload();
  expect(config.log.level).toBe('warn');
});

test('a logger and its children write from the level on that holds now', () => {
  const lines: string[] = [];
  const threshold: { level: LogLevel } = { level: 'info' };
  const logger = createLogger(threshold, (line) => lines.push(JSON.parse(line).event)).child({ room: 'hall' });
  logger.debug('before');
  threshold.level = 'debug';
  logger.debug('after');
  expect(lines).toEqual(['after']);
});

test('a check reads the manifest of tools that the file names', async () => {
  write('log: debug');
  const manifest = join(dir, 'tools.yaml');
  writeFileSync(manifest, 'tools:\n  - name: own\n    source: shell:ls\n');
  expect(await checkConfigFile({ ATMO_STATE_DIR: dir })).toMatchObject({
    problem: expect.stringContaining(`${manifest}, line 3: own: /source has to be`),
  });
  writeFileSync(manifest, 'tools:\n  - name: own\n    source: builtin:echo\n');
  expect(await checkConfigFile({ ATMO_STATE_DIR: dir })).toEqual({ file: join(dir, 'config.yaml') });
});

test('a file without mistakes is told as such, wherever it is', async () => {
  write('log: debug');
  expect(await checkConfigFile({ ATMO_STATE_DIR: dir })).toEqual({ file: join(dir, 'config.yaml') });
  const other = join(dir, 'other.yaml');
  writeFileSync(other, 'http: {port: none}');
  expect(await checkConfigFile({ ATMO_STATE_DIR: dir }, other)).toMatchObject({ file: other, problem: expect.stringContaining('line 1') });
  expect(await checkConfigFile({ ATMO_STATE_DIR: dir }, join(dir, 'nowhere'))).toMatchObject({
    problem: expect.stringContaining('does not exist'),
  });
});
