import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { findDebianTool } from '../../../scripts/network-lab/debian-tool.ts';
import { COMMANDS } from '../../../src/cli/command-table.ts';
import { completionScript, type Shell } from '../../../src/cli/commands/completion.ts';
import { LOOKUPS } from '../../../src/cli/completion-candidates.ts';
import { makeDevice, makeHttpApi, makeReading } from '../../http/http-fixture.ts';
import { atmo, fetchFrom, withDirectory } from '../cli-fixture.ts';

function makeHome() {
  const setup = makeHttpApi();
  setup.directory.devices = [makeDevice('hall-lamp', { name: 'Hall lamp', area: 'Front hall' }), makeDevice('heater', { area: 'Bath' })];
  setup.readings.readings = [makeReading('hall-lamp/temperature', 21.5, setup.clock.now())];
  const parameters = {
    type: 'object',
    properties: { level: { type: 'integer', description: 'Percent' }, fade: { type: 'boolean', description: 'Slowly' } },
  };
  setup.addTool({ name: 'dim', namespace: 'matter', parameters, metadata: { title: 'Dim' } });
  setup.addTool({ name: 'twin', namespace: 'matter' });
  setup.addTool({ name: 'twin', namespace: 'core' });
  /** What may come next, as the shells' scripts are told. */
  const words = async (...line: string[]) => {
    const { code, out } = await atmo(['completion', 'words', ['atmo', ...line].join('\n')], { fetch: fetchFrom(setup.httpApi) });
    expect(code).toBe(0);
    return out.split('\n').flatMap((text) => text.split('\t')[0] || []);
  };
  return { ...setup, words };
}

describe('the completion of a word', () => {
  test('is a command, a verb or an option of the table', async () => {
    const { words } = makeHome();
    expect(await words('comm')).toEqual(['commission']);
    expect(await words('device', 're')).toEqual(['rename', 'remove-fabric', 'remove', 'recognised', 'restore', 'replace']);
    expect(await words('call', 'dim', '--t')).toEqual(['--timeout']);
    expect(await words('call', 'dim', '--help', '')).toContain('level=');
    expect(await words('no-such', 'x')).toEqual([]);
  });

  test('is a name from the hub', async () => {
    const { words } = makeHome();
    expect(await words('devices', '')).toEqual(['hall-lamp', 'heater']);
    expect(await words('device', 'rename', 'hal')).toEqual(['hall-lamp']);
    expect(await words('device', 'rename', 'hall-lamp', '')).toEqual([]);
    expect(await words('tools', '--device', 'he')).toEqual(['heater']);
    expect(await words('read', 'h')).toEqual(['hall-lamp/temperature']);
    expect(await words('sensors', '--area', '')).toEqual(['Front hall', 'Bath']);
    expect(await words('device', 'area', 'hall-lamp', 'B')).toEqual(['Bath']);
    expect(await words('group', 'create', 'evening', 'hall-lamp', 'hea')).toEqual(['heater']);
  });

  test('is a tool by its unique name, and a parameter that is not given yet', async () => {
    const { words } = makeHome();
    expect(await words('call', 'd')).toEqual(['dim']);
    expect(await words('call', '')).toEqual(expect.arrayContaining(['matter:twin@1.0.0', 'core:twin@1.0.0']));
    expect(await words('call', 'dim', '')).toEqual(['level=', 'fade=true', 'fade=false']);
    expect(await words('call', 'dim', 'level=4', 'fade=f')).toEqual(['fade=false']);
    expect(await words('call', 'dim', 'level=4', '')).toEqual(['fade=true', 'fade=false']);
    expect(await words('call', 'dim', 'fade=true', 'level=4', '')).toEqual([]);
  });

  test('is one of the words of an option, or a file', async () => {
    const { words } = makeHome();
    expect(await words('tools', '--category', 's')).toEqual(['sensing']);
    expect(await words('tools', '--format', '')).toEqual(['openai', 'anthropic', 'mcp']);
    expect(await words('completion', 'f')).toEqual(['fish']);
    expect(await words('profile', 'check', '')).toEqual([':files']);
  });

  test('is empty without a hub, and no error', async () => {
    expect(await atmo(['completion', 'words', 'atmo\ndevices\n'])).toEqual(expect.objectContaining({ code: 0, out: '', err: '' }));
  });

  test('includes groups, agents, hubs, jobs, approvals, tokens and applications', async () => {
    const answers: Readonly<Record<string, object>> = {
      '/api/v1/mesh': { peers: [{ id: 'hub-1', name: 'shed' }] },
      '/api/v1/jobs': { jobs: [{ job_id: 'j1', tool: 't', status: 'running' }] },
      '/api/v1/approvals': {
        approvals: [
          { approval_id: 'a1', summary: 'open', state: 'pending' },
          { approval_id: 'a2', state: 'denied' },
        ],
      },
      '/api/v1/tokens': {
        tokens: [
          { token_id: 't1', agent_id: 'x', state: 'valid' },
          { token_id: 't2', state: 'revoked' },
        ],
      },
      '/api/v1/oauth/grants': { grants: [{ id: 'g1', client_name: 'Claude AI' }] },
      list_agents: { agents: [{ agent_id: 'night', status: 'running' }] },
      'hub:list_groups': [{ id: 4, name: 'evening' }, { id: 5 }],
    };
    const answer = async (key: string) => JSON.parse(JSON.stringify(answers[key]));
    const names = async (kind: keyof typeof LOOKUPS) => (await LOOKUPS[kind]({ get: answer, call: answer }, [])).map(({ text }) => text);
    expect(await Promise.all((['hub', 'job', 'approval', 'token', 'application', 'agent', 'group'] as const).map(names))).toEqual([
      ['shed'],
      ['j1'],
      ['a1'],
      ['t1'],
      ['g1'],
      ['night'],
      ['evening', '5'],
    ]);
  });
});

/** How each shell is asked what a TAB at the end of a line would offer. */
const SHELL_PROGRAMS: Readonly<Record<Shell, (line: string) => readonly string[]>> = {
  bash: (line) => [
    '-c',
    `source ./script
COMP_LINE=${quoted(line)} COMP_POINT=${line.length} COMP_WORDBREAKS=$' \\t\\n"\\'><=;|&(:'
_atmo atmo
printf '%s\\n' "\${COMPREPLY[@]}"`,
  ],
  zsh: (line) => [
    '-fc',
    `compdef() {}
compadd() { while [[ $1 == -* && $1 != -a ]]; do [[ $1 == -[Sd] ]] && shift; shift; done; print -rl -- "\${(@P)2}" }
_files() { print -r -- ':files' }
source ./script
words=(${line.split(' ').map(quoted).join(' ')}); CURRENT=\${#words}
_atmo | while read -r name; do [[ $name == \${words[CURRENT]}* ]] && print -r -- $name; done; true`,
  ],
  fish: (line) => ['--no-config', '-c', `source ./script; complete -C ${quoted(line)} | string replace -r '\\t.*' ''`],
};

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function programOf(shell: Shell): { readonly path: string; readonly env: NodeJS.ProcessEnv } | undefined {
  return shell === 'bash' ? { path: 'bash', env: process.env } : findDebianTool(shell);
}

/** Runs a shell with the script and an `atmo` that answers these lines to `completion words`, and keeps what it was asked. */
function tab(shell: Shell, line: string, answer = '') {
  return withDirectory(async (dir) => {
    writeFileSync(`${dir}/script`, completionScript(shell, COMMANDS));
    writeFileSync(`${dir}/answer`, answer);
    writeFileSync(`${dir}/asked`, '');
    writeFileSync(`${dir}/atmo`, `#!/bin/sh\nprintf '%s' "$3" >${dir}/asked\ncat ${dir}/answer\n`);
    chmodSync(`${dir}/atmo`, 0o755);
    const { path, env } = programOf(shell) ?? { path: '', env: {} };
    const options = { cwd: dir, encoding: 'utf8', timeout: 20_000 } as const;
    const home = { ...env, PATH: `${dir}:${process.env.PATH}`, HOME: dir };
    const { stdout, stderr } = spawnSync(path, SHELL_PROGRAMS[shell](line), { ...options, env: home });
    expect(stderr).toBe('');
    return { offered: stdout.trim().split('\n'), asked: readFileSync(`${dir}/asked`, 'utf8'), isOwned: existsSync(`${dir}/owned`) };
  });
}

describe.each(['bash', 'zsh', 'fish'] as const)('a TAB in %s', (shell) => {
  const run = (name: string, body: () => Promise<void>) =>
    test(name, (context) => {
      context.skip(programOf(shell) === undefined, `${shell} is not installed; scripts/netlab tools fetches it`);
      return body();
    });

  run('offers commands, verbs and options without asking anybody', async () => {
    expect((await tab(shell, 'atmo comm')).offered).toContain('commission');
    const verbs = await tab(shell, 'atmo device re');
    expect(verbs.offered.toSorted()).toEqual(['recognised', 'remove', 'remove-fabric', 'rename', 'replace', 'restore']);
    const options = await tab(shell, 'atmo call --t');
    expect([options.offered, options.asked]).toEqual([['--timeout'], '']);
    expect((await tab(shell, 'atmo device share x --c')).offered).toEqual(['--close']);
  });

  run('asks atmo for names, with the words so far', async () => {
    const { offered, asked } = await tab(shell, 'atmo device rename li', 'living-room-lamp\tLamp\nliving-room-blind\tBlind\n');
    expect(offered.toSorted()).toEqual(['living-room-blind', 'living-room-lamp']);
    expect(asked).toBe('atmo\ndevice\nrename\nli');
    expect((await tab(shell, 'atmo devices ', 'lamp\tLamp\n')).asked).toBe('atmo\ndevices\n');
  });

  run('never evaluates what a device is called', async () => {
    const { offered, isOwned } = await tab(shell, 'atmo devices ', '$(touch owned);`touch owned`\t$(touch owned)\n');
    expect(offered.join('')).toContain('touch');
    expect(isOwned).toBe(false);
  });
});

describe('a TAB in bash', () => {
  test('completes after the colon and the equals sign, where readline splits words', async () => {
    expect((await tab('bash', 'atmo call matter:t', 'matter:twin@1.0.0\tTwin\n')).offered).toEqual(['twin@1.0.0']);
    expect((await tab('bash', 'atmo call dim fade=f', 'fade=false\tSlowly\n')).offered).toEqual(['false']);
  });

  test('quotes spaces, and completes files', async () => {
    expect((await tab('bash', 'atmo sensors --area F', 'Front hall\tarea\n')).offered).toEqual(['Front\\ hall']);
    expect((await tab('bash', 'atmo profile check scr', ':files\n')).offered).toEqual(['script']);
  });
});
