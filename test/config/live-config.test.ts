import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { checkConfigFile } from '../../src/config/config-check.ts';
import { liveConfig } from '../../src/config/live-config.ts';
import { createLogger } from '../../src/core/logger.ts';

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
  write('log: debug\ntools: {disabled: [b, c]}\nroles: {other: {permissions: ["sensor:read:*"]}}');
  expect(config.reload().applied.toSorted()).toEqual(['log', 'roles.guard', 'roles.other', 'tools.disabled', 'tools.features.x']);
  expect([tools.disabled, tools.features, Object.keys(roles), config.currentLogLevel()]).toEqual([['b', 'c'], {}, ['other'], 'debug']);
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

test('the environment wins over a file that changes', () => {
  write('log: info');
  const config = liveConfig({ ATMO_LOG: 'warn' }, dir);
  write('log: debug');
  config.reload();
  expect(config.currentLogLevel()).toBe('warn');
});

test('a logger and its children write from the level on that holds now', () => {
  const lines: string[] = [];
  let level: 'info' | 'debug' = 'info';
  const logger = createLogger(
    () => level,
    (line) => lines.push(JSON.parse(line).event),
  ).child({ room: 'hall' });
  logger.debug('before');
  level = 'debug';
  logger.debug('after');
  expect(lines).toEqual(['after']);
});

test('a check reads the manifest of tools that the file names', async () => {
  write('log: debug');
  const manifest = join(dir, 'tools.yaml');
  writeFileSync(manifest, 'tools:\n  - name: own\n    source: shell:ls\n');
  expect(await checkConfigFile({ ATMO_STATE_DIR: dir })).toMatchObject({ problem: expect.stringContaining(`${manifest}:3`) });
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
