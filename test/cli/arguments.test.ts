import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseCommandLine } from '../../src/cli/command-line.ts';
import { COMMANDS } from '../../src/cli/command-table.ts';
import { parseGrant } from '../../src/core/auth/permission.ts';
import { withDefaultOptions } from '../../src/core/devices/device-model.ts';
import type { JsonObject } from '../../src/core/json.ts';
import { standardCluster } from '../../src/matter/model/data-model.ts';
import { profileFilesOf, readProfileDirectory } from '../../src/profiles/files/load-profiles.ts';
import { standardHome } from '../home/home-spec.ts';
import { atmo } from './cli-fixture.ts';

describe('the help', () => {
  test('names every command', async () => {
    const { code, out } = await atmo(['--help']);
    expect(code).toBe(0);
    for (const { name, summary } of COMMANDS) {
      expect(out).toContain(`  ${name}`);
      expect(out).toContain(summary);
    }
  });

  test.each(COMMANDS.map(({ name }) => name))('of %s tells its operands and options', async (name) => {
    const command = COMMANDS.find((known) => known.name === name);
    const { code, out } = await atmo([...name.split(' '), '--help']);
    expect(code).toBe(0);
    expect(out).toContain(`atmo ${name}`);
    for (const option of Object.keys(command?.options ?? {})) expect(out).toContain(`--${option}`);
    for (const operand of command?.operands ?? []) expect(out).toContain(operand.help);
  });

  test('has the exit codes', async () => {
    expect((await atmo(['help'])).out).toMatch(/Exit codes: 0 success, 2 wrong usage/);
  });

  test('of a group has all its commands; help WORD works too', async () => {
    expect((await atmo(['device', '--help'])).out).toMatch(/device rename[\s\S]*device ping/);
    expect((await atmo(['help', 'call'])).out).toContain('KEY=VALUE');
  });

  test('--version prints the version', async () => {
    expect((await atmo(['--version'])).out).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect((await atmo(['--version', '--json'])).json()).toHaveProperty('version');
  });
});

/** The commands that scripts outside rely on, word for word. */
const PROMISED = [
  ['serve'],
  ['backup', 'FILE'],
  ['restore', 'FILE'],
  ['config', 'check'],
  ['config', 'reload'],
  ['status'],
  ['doctor'],
  ['commission', 'CODE', '--name', 'N', '--area', 'A', '--wifi', 'W', '--address', 'host:1'],
  ['commission', 'CODE', '--thread', 'T'],
  ['devices'],
  ['devices', 'ID'],
  ...['identify', 'ping', 'interview', 'share', 'fabrics', 'remove', 'area'].map((verb) => ['device', verb, 'ID']),
  ['device', 'rename', 'ID', 'NAME'],
  ['tools', '--search', 'TEXT', '--device', 'ID', '--capability', 'C', '--category', 'C', '--format', 'openai'],
  ['tools', 'NAME'],
  ['call', 'TOOL', 'key=value', '--async', '--timeout', '5'],
  ['call', 'TOOL', '--params', '{}'],
  ['sensors'],
  ['read', 'SENSOR', '--since', '24h', '--every', '5m', '--agg', 'avg'],
  ['jobs'],
  ['jobs', 'ID'],
  ['job', 'cancel', 'ID'],
  ['token', 'mint', '--agent', 'ID', '--allow', 'a:b', 'c:d', '--ttl', '24h', '--max-hops', '1', '--rate', '30/min'],
  ['token', 'show', 'TOKEN'],
  ['token', 'revoke', 'CTI'],
  ['token', 'check', '--allow', 'a:b', '--require', 'a:b'],
  ['token', 'rotate-owner'],
  ['approvals'],
  ['approve', 'ID'],
  ['deny', 'ID'],
  ...['tail', 'verify', 'replay', 'export'].map((verb) => ['audit', verb]),
  ...['create', 'invite', 'leave', 'peers'].map((verb) => ['mesh', verb]),
  ['mesh', 'join', 'CODE'],
  ['mesh', 'revoke', 'HUB'],
  ['profile', 'draft', 'DEVICE'],
  ['profile', 'check', 'FILE', 'FILE'],
  ['login'],
  ['clock', 'set', 'TIME'],
  ['mcp', '--agent', 'NAME'],
];

describe('the commands that others rely on', () => {
  test.each(PROMISED)('atmo %s %s', (...words) => {
    const { options } = parseCommandLine(COMMANDS, [...words, '--json']);
    expect(options.json).toBe(true);
  });
});

describe('examples', () => {
  const words = wordsOfLines(COMMANDS.flatMap(({ examples = [] }) => examples));

  test.each(COMMANDS.map((command) => [command.name, command] as const))('of %s are there, and right', async (name, command) => {
    expect(command.examples?.length).toBeGreaterThan(0);
    expect((await atmo([...name.split(' '), '--help'])).out).toContain(`\n  atmo ${command.examples?.[0]}\n`);
    for (const example of command.examples ?? []) expect(parseCommandLine(COMMANDS, words.get(example) ?? []).command.name).toBe(name);
  });
});

const EXAMPLES = COMMANDS.flatMap(({ examples = [] }) => examples);

describe('examples for a home', () => {
  /** The tools that profile files give a device, without its name before them. */
  const { capabilities } = profileFilesOf(readProfileDirectory(join(import.meta.dirname, '../../device-profiles')));
  const ofDevices = Object.values(capabilities).flatMap(({ tools = {} }) => Object.keys(tools));
  const tools = standardHome().devices.flatMap(({ name }) => ofDevices.map((tool) => `${name.toLowerCase().replaceAll(' ', '_')}_${tool}`));

  test('name tools of the virtual home', () => {
    const named = EXAMPLES.flatMap((example) => /^(?:call|doctor|rules test|tools) (?!get_|analyze_)([a-z_]{3,})/.exec(example)?.[1] ?? []);
    expect(named.length).toBeGreaterThan(7);
    expect(named.filter((name) => !tools.includes(name))).toEqual([]);
  });

  test('give permissions for something: an action alone covers no device and no sensor', () => {
    const given = EXAMPLES.flatMap((example) => [...example.matchAll(/--allow '?([^ ']+)/g)].map(([, grant = '']) => parseGrant(grant)));
    expect(given.length).toBeGreaterThan(5);
    expect(given.filter((grant) => grant === undefined || grant.kind === 'action')).toEqual([]);
  });

  test('have the fields that a command to a group takes', () => {
    const calls = EXAMPLES.flatMap((example) => {
      const [, cluster = '', command = '', fields = '{}'] = /^group call \w+ (\w+) (\w+)(?: --params '(.*)')?$/.exec(example) ?? [];
      return cluster === ''
        ? []
        : [{ of: standardCluster(cluster)?.commands.find(({ name }) => name === command), fields: JSON.parse(fields) as JsonObject }];
    });
    expect(calls).toHaveLength(2);
    for (const { of, fields } of calls) {
      const required = (of?.parameters.required ?? []) as readonly string[];
      expect(Object.keys(withDefaultOptions(fields, required))).toEqual(required);
    }
  });
});

/** The words of each command line as a shell reads them. One shell reads all lines, since starting one takes longer than the rest. */
function wordsOfLines(lines: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const script = "for line; do eval \"printf '%s\\0' $line\"; printf '\\n\\0'; done";
  const { stdout } = spawnSync('bash', ['-c', script, 'bash', ...lines], { encoding: 'utf8' });
  const read = stdout.split('\n\0').map((words) => words.split('\0').slice(0, -1));
  return new Map(lines.map((line, index) => [line, read[index] ?? []]));
}

describe('mistakes in the command line', () => {
  test.each([
    [['devcies'], 'did you mean "atmo devices"?'],
    [['help', 'devcies'], 'did you mean "atmo devices"?'],
    [['help', 'nonsense'], 'atmo --help lists what there is'],
    [['device', 'renam', 'x', 'y'], 'did you mean "atmo device rename"?'],
    [['device', 'list'], 'did you mean "atmo devices"?'],
    [['agent', 'ls'], 'did you mean "atmo agents"?'],
    [['device'], 'atmo device wants one of: device rename'],
    [['call'], 'TOOL is missing'],
    [['read', 'a/b', 'c'], '"c" is one argument too many'],
    [['tools', '--serach', 'x'], 'did you mean --search?'],
    [['call', 'x', '--timeout', 'soon'], '--timeout takes a whole number'],
    [['call', 'x', 'a=1', '--params', '{}'], 'not both'],
    [['call', 'x', '--params', '[1]'], '--params has to be a JSON object'],
    [['call', 'x', '--params', '@/no/such/file'], 'There is no file /no/such/file'],
    [['commission'], 'either a CODE or --passcode'],
    [['commission', 'MT:X', '--address', 'host'], '--address takes HOST:PORT'],
    [['device', 'bind', 'a/1', 'a/1'], 'SOURCE and TARGET have to be different'],
    [['completion', 'tcsh'], 'bash, zsh, fish'],
  ])('%j exits with 2 and says what to type', async (argv, hint) => {
    const { code, err, out } = await atmo(argv);
    expect([code, out]).toEqual([2, '']);
    expect(err).toContain(hint);
  });

  test('with --json the error is one document on stdout', async () => {
    const { code, json } = await atmo(['devcies', '--json']);
    expect([code, json().error.code]).toEqual([2, 'VALIDATION_ERROR']);
  });
});

describe('the parser', () => {
  test('takes options before, between and after operands', () => {
    for (const argv of [
      ['--json', 'call', 'dim', 'level=4', '--timeout', '5'],
      ['call', '--timeout=5', 'dim', '--json', 'level=4'],
    ]) {
      const { command, operands, options } = parseCommandLine(COMMANDS, argv);
      expect([command.name, operands, options.timeout, options.json]).toEqual(['call', ['dim', 'level=4'], '5', true]);
    }
  });

  test('a value may begin with a dash, as keys do, but an option is never a value', () => {
    const key = (...argv: string[]) => parseCommandLine(COMMANDS, ['approver', 'enroll', 'ann', ...argv]).options;
    expect(key('--key', '-abc', '--label', '--x')).toMatchObject({ key: '-abc', label: '--x' });
    expect(() => key('--key', '--json')).toThrow(/--key/);
  });

  test('an operand that is spelled like the command stays an operand', () => {
    expect(parseCommandLine(COMMANDS, ['call', 'call', 'a=b']).operands).toEqual(['call', 'a=b']);
    expect(parseCommandLine(COMMANDS, ['device', 'rename', 'device', 'rename']).operands).toEqual(['device', 'rename']);
  });

  test('every command has its own name and words that no other command swallows', () => {
    for (const command of COMMANDS) {
      const operands = (command.operands ?? []).map(() => 'x');
      expect(parseCommandLine(COMMANDS, [...command.name.split(' '), ...operands]).command.name).toBe(command.name);
    }
  });
});
