import { describe, expect, test } from 'vitest';
import { openSandbox } from '../../../src/connectors/sandbox/command-tools.ts';
import { parseCommandLine } from '../../../src/connectors/sandbox/named-commands.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { agent, makePipeline, owner } from '../../calls/pipeline-fixture.ts';
import { programsFake } from '../../tools/programs/program-sandbox-fake.ts';
import { sandboxSettings } from './sandbox-settings.ts';

const path = { type: 'string', description: 'Folder', pattern: '^/srv/' };
const lines = { type: 'integer', description: 'Lines', minimum: 1, maximum: 100 };
const COMMANDS = {
  disk_usage: {
    description: 'Tells how full a folder is.',
    argv: ['/usr/bin/du', '-sk', '--', '{path}'],
    parameters: { path },
    powers: ['media'],
    approval: false,
  },
  log: {
    description: 'Shows the end of a file.',
    argv: ['tail', '-n{lines}', '{name}'],
    parameters: { lines, name: { type: 'string', description: 'File' } },
    optional: ['lines'],
    approval: false,
  },
  write: { description: 'Writes.', argv: ['touch', '--', '{path}'], parameters: { path }, powers: ['out'] },
};
const POWERS = { media: { read: ['/srv/media'] }, out: { write: ['/srv/out'] } };

function open(file: JsonObject = { commands: COMMANDS, powers: POWERS }, missing?: string) {
  const programs = programsFake({ stdout: 'out', stderr: 'err', exitCode: 1 }, missing);
  const connector = openSandbox({ env: {}, programs }, { sandbox: sandboxSettings(file) });
  const setup = makePipeline();
  for (const tool of connector.tools) setup.registry.register(tool);
  for (const [alias, name] of Object.entries(connector.aliases ?? {})) setup.registry.alias(alias, name);
  const call = (tool: string, params: JsonObject, principal = owner) => setup.pipeline.call({ principal, tool, params });
  return { ...setup, programs, call };
}

describe('a command line', () => {
  test('is words and quotes', () => {
    expect(parseCommandLine(`ls  -la '/a b' "c 'd'"e ''`)).toEqual(['ls', '-la', '/a b', "c 'd'e", '']);
  });

  test.each([
    'ls | sh',
    'ls;id',
    'a && b',
    'echo $HOME',
    'echo "$HOME"',
    'ls *',
    '`id`',
    'cat <x',
    'a > b',
    '"open',
    "it's",
    '~/x',
    'a\nb',
    'a #b',
    '{a,b}',
    '',
    '  ',
  ])('that only a shell understands is refused: %j', (line) => {
    expect(() => parseCommandLine(line)).toThrow(/no shell/);
  });
});

describe('commands that the owner allows', () => {
  test('run by their line, whole and bare program, with values where the owner left places', async () => {
    const { call, programs } = open();
    expect(await call('tool_exec', { cmd: 'du -sk -- /srv/media' })).toMatchObject({
      result: { stdout: 'out', stderr: 'err', exit_code: 1 },
    });
    await call('exec', { cmd: '/usr/bin/du -sk -- "/srv/-rf x"' });
    await call('shell', { command: 'tail -n5 messages', cwd: '/tmp' });
    await call('shell', { command: 'tail messages' });
    expect(programs.orders.map(({ program, args, cwd }) => [program, ...args, cwd])).toEqual([
      ['/usr/bin/du', '-sk', '--', '/srv/media', undefined],
      ['/usr/bin/du', '-sk', '--', '/srv/-rf x', undefined],
      ['tail', '-n5', 'messages', '/tmp'],
      ['tail', 'messages', undefined],
    ]);
    expect(programs.orders[0]?.powers).toEqual(['media']);
  });

  test.each([
    'du -sk -- /home',
    'du -sk /srv/x',
    'du -ska -- /srv/x',
    './du -sk -- /srv/x',
    'tail -n500 x',
    'tail -nx x',
    'tail -5 x',
    'tail',
    'ls',
    'du -sk -- /srv/x y',
  ])('are no others: %s', async (cmd) => {
    const { call, programs } = open();
    expect(await call('exec', { cmd })).toMatchObject({ error: { code: 'VALIDATION_ERROR' } });
    expect(programs.orders).toEqual([]);
  });

  test('are tools of their own, with types, for who holds the one command', async () => {
    const { call, registry } = open();
    const one = agent('proc:exec:disk_usage');
    expect(await call('command:disk_usage', { path: '/srv/a' }, one)).toMatchObject({ result: { exit_code: 1 } });
    expect(await call('command:disk_usage', { path: '/home' }, one)).toMatchObject({ error: { code: 'VALIDATION_ERROR' } });
    expect(await call('command:log', { name: 'x' }, one)).toMatchObject({ error: { code: 'TOOL_NOT_FOUND' } });
    expect(await call('exec', { cmd: 'du -sk -- /srv/a' }, one)).toMatchObject({ error: { code: 'TOOL_NOT_FOUND' } });
    expect(await call('exec', { cmd: 'tail x' }, agent('proc:exec', 'proc:exec:disk_usage'))).toMatchObject({
      error: { code: 'PERMISSION_DENIED' },
    });
    expect(await call('exec', { cmd: 'tail x' }, agent('proc:exec:*'))).toMatchObject({ status: 'success' });
    expect(registry.find('command:disk_usage')?.definition.parameters).toMatchObject({ required: ['path'], properties: { path } });
  });

  test('wait for a person unless the owner says otherwise, in whatever form they are called', async () => {
    const { call, programs } = open();
    for (const [tool, params] of [
      ['command:write', { path: '/srv/out' }],
      ['exec', { cmd: 'touch -- /srv/out' }],
      ['shell', { command: 'touch -- /srv/out' }],
    ] as const) {
      expect([tool, (await call(tool, params, agent('*'))).status]).toEqual([tool, expect.stringMatching(/error|approval/)]);
    }
    expect(programs.orders).toEqual([]);
  });

  test('stay in their folders, and within the safety rules', async () => {
    const { call } = open();
    expect(await call('shell', { command: 'tail x', cwd: '/srv/media' })).toMatchObject({
      error: { code: 'VALIDATION_ERROR', details: { pointer: '/cwd' } },
    });
    expect(await call('shell', { command: 'du -sk -- /srv/x', cwd: '/srv/media/sub' })).toMatchObject({ status: 'success' });
    expect(await call('shell', { command: 'du -sk -- /srv/x', cwd: '/srv/media/../../etc' })).toMatchObject({
      error: { code: 'VALIDATION_ERROR' },
    });
    expect(await call('exec', { cmd: 'tail forbidden' })).toMatchObject({ error: { code: 'RULE_BLOCKED' } });
  });

  test('are none by itself: what runs commands is off until the owner names some', async () => {
    const { call, registry } = open({});
    for (const name of ['exec', 'shell', 'docker_list']) expect([name, registry.find(name)?.isAvailable?.()]).toEqual([name, false]);
    expect(await call('tool_exec', { cmd: 'ls' })).toMatchObject({
      error: { code: 'NOT_CONFIGURED', message: expect.stringContaining('connectors.sandbox.commands') },
    });
    expect(await call('tool_docker_list', {})).toMatchObject({
      error: { code: 'NOT_CONFIGURED', message: expect.stringContaining('container_engine') },
    });
  });

  test('are listed as unavailable where there is no sandbox, and nobody is asked to approve them', async () => {
    const { registry, call } = open(undefined, 'install bubblewrap');
    expect(registry.find('command:disk_usage')?.isAvailable?.()).toBe(false);
    for (const [tool, params] of [
      ['command:write', { path: '/srv/out' }],
      ['exec', { cmd: 'touch -- /srv/out' }],
    ] as const) {
      expect(await call(tool, params)).toMatchObject({
        error: { code: 'NOT_CONFIGURED', message: expect.stringContaining('install bubblewrap') },
      });
    }
  });

  test.each([
    [{ a: { description: 'x', argv: ['ls', '{path}'] } }, /uses \{path\}/],
    [{ a: { description: 'x', argv: ['ls'], powers: ['nothing'] } }, /needs the power nothing/],
    [{ a: { description: 'x', argv: ['{p}'], parameters: { p: path } } }, /begin with a program/],
  ])('with a mistake stop the start: %j', (commands, problem) => {
    expect(() => open({ commands })).toThrow(problem);
  });
});
