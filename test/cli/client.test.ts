import { expect, test } from 'vitest';
import type { CliIo } from '../../src/cli/cli-io.ts';
import { CLIENT_PROGRAM, HUB_MACHINE_COMMANDS } from '../../src/cli/client-table.ts';
import { COMMANDS, HUB_MACHINE_SECTION } from '../../src/cli/command-table.ts';
import { clientMachineChecks } from '../../src/cli/doctor/own-state.ts';
import { runCli } from '../../src/cli/run-cli.ts';
import { IDLE_IO } from './cli-fixture.ts';

const names = CLIENT_PROGRAM.sections.flatMap(({ commands }) => commands.map(({ name }) => name));

/** Runs `atmo` of the client package on a machine where no hub answers. */
async function client(argv: readonly string[], more: Partial<CliIo> = {}) {
  const written = { out: '', err: '' };
  const code = await runCli(argv, CLIENT_PROGRAM, {
    ...IDLE_IO,
    stdout: { write: (text) => (written.out += text) },
    stderr: { write: (text) => (written.err += text) },
    stdin: (async function* () {})(),
    env: { HOME: '/nowhere' },
    machineChecks: async () => clientMachineChecks({ HOME: '/nowhere' }, CLIENT_PROGRAM.advice.UNAUTHENTICATED),
    ...more,
  });
  return { code, ...written };
}

test('the client has every command of the hub but those of the machine of the hub', () => {
  expect(HUB_MACHINE_SECTION.commands.map(({ name }) => name).toSorted()).toEqual(HUB_MACHINE_COMMANDS.toSorted());
  expect([...names, ...HUB_MACHINE_COMMANDS].toSorted()).toEqual(COMMANDS.map(({ name }) => name).toSorted());
});

test.each(HUB_MACHINE_COMMANDS)('%s says in the client where it runs, also when its help is asked for', async (name) => {
  for (const words of [name.split(' '), ['help', ...name.split(' ')], [...name.split(' '), '--help']]) {
    const { code, err } = await client(words);
    expect([code, err]).toEqual([2, expect.stringContaining(`"atmo ${name}" runs on the machine of the hub`)]);
  }
});

test('the help of the client lists what only the machine of the hub has, and completion offers nothing of it', async () => {
  const { out } = await client(['--help']);
  expect(out).toContain('Only on the machine of the hub: atmo serve, ');
  expect(out).not.toMatch(/^ {2}serve /m);
  const { out: script } = await client(['completion', 'bash']);
  expect(script).toContain("'devices'");
  expect(script).not.toContain("'serve'");
});

test('the first step of the client is to sign in at a hub', async () => {
  expect(await client([])).toMatchObject({ code: 2, out: expect.stringContaining('atmo login https://HUB:8081 --fingerprint') });
  expect((await client(['devices'])).err).toContain('atmo login https://HUB:8081');
});

const UNKNOWN_TOKEN = Response.json({ code: 'TOKEN_EXPIRED', detail: 'The token has ended' }, { status: 401 });

test.each([
  ['where no hub answers', ['devices'], {}],
  ['where no hub answers, in doctor', ['doctor'], {}],
  ['without a login', ['whoami'], {}],
  ['without a login for an agent', ['mcp', '--agent', 'desk'], {}],
  [
    'with a token that has ended',
    ['devices'],
    { env: { HOME: '/nowhere', ATMO_TOKEN: 'at1.ended' }, fetch: async () => UNKNOWN_TOKEN.clone() },
  ],
])('the client names no command of the machine of the hub but that of the invitation: %s', async (_case, argv, io) => {
  const { out, err } = await client(argv, io);
  expect(`${out}${err}`.replaceAll(/\s+/g, ' ')).toContain('as "sudo atmo people invite NAME --cli" prints it on the hub');
  expect(`${out}${err}`).not.toMatch(/atmo serve|systemctl|sudo atmo login/);
});
