import { writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { jobTools } from '../../../src/calls/jobs/job-directory.ts';
import { HUB_PROGRAM } from '../../../src/cli/command-table.ts';
import { rehearsalText } from '../../../src/cli/commands/rehearsal.ts';
import { nextStep } from '../../../src/cli/terminal/output.ts';
import { AtmoError, type ErrorCode } from '../../../src/core/errors.ts';
import { jobsHere } from '../../calls/pipeline-fixture.ts';
import { AGENT_TOKEN, makeDevice, makeHttpApi, makeReading } from '../../http/http-fixture.ts';
import { atmo, fetchFrom, withDirectory } from '../cli-fixture.ts';

const DIM = {
  name: 'dim',
  namespace: 'matter',
  parameters: {
    type: 'object',
    required: ['level'],
    properties: { level: { type: 'integer', minimum: 0, maximum: 100, description: 'Percent' } },
    additionalProperties: false,
  },
  metadata: { title: 'Dim the lamp', category: 'acting', device: 'hall-lamp' },
  execution: { async_allowed: true },
};

function makeHome() {
  const setup = makeHttpApi();
  setup.directory.devices = [
    makeDevice('hall-lamp', { name: 'Hall\u001b[2J lamp', area: 'Hall', lastSeenMs: setup.clock.now() - 4_000 }),
    makeDevice('attic', { reachability: 'unreachable' }),
  ];
  setup.readings.readings = [makeReading('hall-lamp/temperature', 21.5, setup.clock.now() - 9_000)];
  setup.addTool({ ...DIM, handler: async ({ level = 0 }) => ({ level, settled: true }) });
  for (const tool of jobTools(jobsHere(setup.jobs))) setup.registry.register(tool);
  const run = (argv: readonly string[], io = {}) => atmo(argv, { fetch: fetchFrom(setup.httpApi), ...io });
  return { ...setup, run };
}

describe('reading commands', () => {
  test('devices prints a list for people and for programs', async () => {
    const { run } = makeHome();
    const { code, out } = await run(['devices']);
    expect(code).toBe(0);
    expect(out).toMatch(/hall-lamp +Hall \[2J lamp +Hall +dimmable light +reachable +4 s +1\n/);
    expect(out).toMatch(/attic .* unreachable +never +0\n/);
    expect((await run(['devices', '--json'])).json().devices).toHaveLength(2);
    expect((await run(['devices', 'hall-lamp'])).out).toMatch(/temperature +21\.5 °C +9 s[\s\S]*matter:dim@1\.0\.0/);
  });

  test('texts of a device cannot control the terminal', async () => {
    const { run } = makeHome();
    for (const argv of [['devices'], ['devices', 'hall-lamp']]) expect((await run(argv)).out).not.toContain('\u001b');
  });

  test('tools lists every page, describes one, and exports', async () => {
    const { run, addTool } = makeHome();
    for (let number = 0; number < 1_100; number++) addTool({ name: `many_${number}` });
    expect((await run(['tools', '--json'])).json().total).toBe(1_103);
    expect((await run(['tools', '--device', 'hall-lamp'])).out).toMatch(/matter:dim@1\.0\.0/);
    expect((await run(['tools', 'dim'])).out).toMatch(/level +yes +Percent +.*"maximum":100/);
    expect((await run(['tools', '--device', 'hall-lamp', '--format', 'openai'])).json()).toMatchObject([
      { type: 'function', function: { name: 'dim', parameters: { required: ['level'] } } },
    ]);
    expect((await run(['tools', '--search', 'dim', '--json'])).json().tools[0].reasons).toContain('name: dim');
  });

  test('sensors and read print value, unit and age; options make it a history', async () => {
    const { run, readings, clock } = makeHome();
    expect((await run(['sensors'])).out).toMatch(/hall-lamp\/temperature +21\.5 °C +9 s/);
    expect((await run(['read', 'hall-lamp/temperature'])).out).toBe('21.5 °C  (9 s old, device reachable)\n');
    readings.points = [{ atMs: clock.now() - 1_000, value: 20 }];
    expect((await run(['read', 'hall-lamp/temperature', '--since', '24h', '--every', '5m', '--agg', 'max'])).out).toMatch(/20 °C/);
    expect(readings.asked).toMatchObject({ aggregation: 'max', everyMs: 300_000 });
  });

  test('a sensor of a removed device is reported as removed, and its history can still be read', async () => {
    const { run, readings, clock } = makeHome();
    readings.readings = [];
    readings.points = [{ atMs: clock.now() - 1_000, value: 20 }];
    const now = await run(['read', 'hall-lamp/temperature']);
    expect([now.code, now.out]).toEqual([expect.any(Number), '']);
    expect(now.code).not.toBe(0);
    expect(now.err).toMatch(/hall-lamp was removed.*--since 7d/);
    expect((await run(['read', 'hall-lamp/temperature', '--since', '24h'])).out).toMatch(/20/);
  });

  test('status prints a summary', async () => {
    const { run } = makeHome();
    const { out, code } = await run(['status']);
    expect(code).toBe(0);
    expect(out).toMatch(/devices +2 \(not reachable: attic\)/);
    expect((await run(['status', '--json'])).json()).toMatchObject({ status: 'ok', tools: 3, sensors: 1, unreachable: ['attic'] });
    expect(out).not.toContain('mesh');
  });

  test('status prints the mesh and the hubs that are not reachable', async () => {
    const { run, addTool } = makeHome();
    const peers = [{ hub_id: 'hub-a', name: 'shed', reachable: false }];
    addTool({ namespace: 'hub', name: 'mesh_status', handler: async () => ({ state: 'member', mesh_id: 'mesh-1' }) });
    addTool({ namespace: 'hub', name: 'mesh_peers', handler: async () => peers });
    expect((await run(['status'])).out).toMatch(/mesh +mesh-1 with 1 other hub \(not reachable: shed\)/);
    const { mesh } = (await run(['status', '--json'])).json();
    expect(mesh).toEqual({ id: 'mesh-1', state: 'member', peers: 1, unreachable: ['shed'] });
  });
});

describe('a hub that is stopping', () => {
  test('still reports its status', async () => {
    const health = {
      health: () => ({ status: 'stopping' as const, nodeId: 'hub-9', version: '1.2.3', startedAtMs: 0, problems: ['disk full'] }),
    };
    const { httpApi } = makeHttpApi({ health });
    const { code, out } = await atmo(['status'], { fetch: fetchFrom(httpApi) });
    expect([code, out]).toEqual([0, expect.stringMatching(/hub-9[\s\S]*stopping[\s\S]*disk full/)]);
  });
});

describe('calling', () => {
  test('key=value words take the types of the tool', async () => {
    const { run } = makeHome();
    expect((await run(['call', 'dim', 'level=40'])).out).toMatch(/^level {4}40\nsettled {2}true\n/);
    expect((await run(['call', 'dim', 'level=40', '--json'])).json()).toMatchObject({ status: 'success', result: { level: 40 } });
  });

  test('a call shows its trace, which atmo undo takes, also where the result is no object', async () => {
    const { run, addTool } = makeHome();
    addTool({ name: 'count', returns: { type: 'integer' }, handler: async () => 3 });
    expect((await run(['call', 'dim', 'level=40'])).out).toMatch(/\ntrace {4}[0-9a-f]{32}\n$/);
    expect((await run(['call', 'count'])).out).toMatch(/^3\ntrace {2}[0-9a-f]{32}\n$/);
  });

  test('undo --dry-run says what would be done, and undoes nothing', async () => {
    let undone = 0;
    const { run, addTool } = makeHome();
    addTool({ namespace: 'hub', name: 'undo', parameters: { type: 'object' }, handler: async () => ({ summary: `undone ${++undone}` }) });
    const { code, out } = await run(['undo', 'ab12', '--dry-run']);
    expect([code, out, undone]).toEqual([0, expect.stringContaining('would run'), 0]);
    expect((await run(['undo', 'ab12'])).out).toBe('undone 1\n');
  });

  test('a rehearsal says what automations will do against the call', () => {
    const sentence = '"Evening" will do this at 18:30: Turn off Hall lamp (hall)';
    const hidden = 'An automation that you may not see acts on Hall lamp (hall), and may want something different of it';
    const conflicts = [
      { when: 'at_time', sentence },
      { when: 'not_told', sentence: hidden },
    ];
    const answer = { tool: 'dim', outcome: 'would_run', undo: { possible: true }, conflicts };
    expect(rehearsalText(answer)).toEqual(['dim would run\n', `Soon: ${sentence}\n`, `Also: ${hidden}\n`, 'It can be undone\n']);
  });

  test('parameters come as JSON, from stdin and from a file', async () => {
    const { run } = makeHome();
    expect((await run(['call', 'dim', '--params', '{"level":1}', '--json'])).json().result.level).toBe(1);
    expect((await run(['call', 'dim', '--params', '-', '--json'], { stdin: '{"level":2}\n' })).json().result.level).toBe(2);
  });

  test('--async returns a job, jobs prints its result', async () => {
    const { run } = makeHome();
    const started = (await run(['call', 'dim', 'level=7', '--async', '--json'])).json();
    expect((await run(['jobs', started.job_id, '--json'])).json()).toMatchObject({ status: 'succeeded', result: { level: 7 } });
    expect((await run(['jobs'])).out).toContain(started.job_id);
    expect((await run(['job', 'cancel', started.job_id])).code).toBe(0);
  });

  test('an idempotency key and a deadline are sent with the call', async () => {
    let runs = 0;
    const { run, addTool } = makeHome();
    addTool({ name: 'count', handler: async () => ({ run: ++runs }) });
    const argv = ['call', 'count', '--idempotency-key', 'k', '--timeout', '500', '--json'];
    expect((await run(argv)).json().result).toEqual({ run: 1 });
    expect((await run(argv)).json().result).toEqual({ run: 1 });
  });
});

describe('exit codes', () => {
  test.each([
    ['VALIDATION_ERROR', 2],
    ['TOOL_NOT_FOUND', 2],
    ['PERMISSION_DENIED', 3],
    ['APPROVAL_REQUIRED', 3],
    ['DEVICE_UNREACHABLE', 4],
    ['OUTCOME_UNKNOWN', 4],
    ['CLUSTER_STATUS', 4],
    ['SHUTTING_DOWN', 5],
    ['INTERNAL_ERROR', 1],
  ] as const)('a call that ends with %s exits with %i and its error is one document', async (code: ErrorCode, exitCode) => {
    const { run, addTool } = makeHome();
    addTool({
      name: 'fail',
      handler: async () => {
        throw new AtmoError(code, 'It went wrong; do something', { which: 'lamp' });
      },
    });
    const answer = await run(['call', 'fail', '--json']);
    expect(answer.code).toBe(exitCode);
    expect(answer.json()).toMatchObject({ status: 'error', request_id: expect.any(String), error: { code, details: { which: 'lamp' } } });
    expect(answer.err).toMatch(new RegExp(`^${code}: It went wrong`));
  });

  test('no token and a wrong one exit with 3, no hub and another server with 5', async () => {
    const { run } = makeHome();
    expect((await run(['devices'], { env: { ATMO_STATE_DIR: '/no/such/dir' } })).code).toBe(3);
    expect((await run(['devices'], { env: { ATMO_TOKEN: 'guess' } })).code).toBe(3);
    expect(await atmo(['devices'])).toMatchObject({ code: 5, err: expect.stringContaining('atmo serve') });
    expect((await atmo(['devices'], { fetch: async () => new Response('<html>', { status: 200 }) })).code).toBe(5);
  });

  test('an error names the command that comes next, unless its message does', async () => {
    const { run } = makeHome();
    expect((await run(['call', 'dimm'])).err).toMatch(/^TOOL_NOT_FOUND: .*\n→ atmo tools --search 'what it does' finds one\n$/);
    expect((await run(['devices', 'cellar'])).err).toContain('→ atmo devices lists them');
    expect(nextStep(new AtmoError('VALIDATION_ERROR', 'Sensor id "hall" is not of the form <device id>/<reading>'))).toBe(
      'atmo sensors lists them',
    );
    const known = new AtmoError('UNAUTHENTICATED', 'Use "sudo atmo …"');
    expect(nextStep(known, HUB_PROGRAM.advice)).toBeUndefined();
    const elsewhere = new AtmoError('HUB_UNREACHABLE', 'No hub answers', { url: 'https://hub.local:8081' });
    expect(nextStep(elsewhere, HUB_PROGRAM.advice)).toBeUndefined();
  });

  test('a parameter out of range names every mistake', async () => {
    const { run } = makeHome();
    const { code, err } = await run(['call', 'dim', 'level=400', 'colour=red']);
    expect(code).toBe(2);
    expect(err).toMatch(/level/);
    expect(err).toMatch(/colour/);
  });
});

describe('the token', () => {
  test('is found in the state directory, and never sent to another machine', async () => {
    await withDirectory(async (dir) => {
      writeFileSync(`${dir}/owner.token`, 'from-the-file\n', { mode: 0o600 });
      const sent: (string | null)[] = [];
      const fetch = async (_url: string, init: RequestInit) => {
        sent.push(new Headers(init.headers).get('authorization'));
        return Response.json({ devices: [] });
      };
      await atmo(['devices'], { fetch, env: { ATMO_STATE_DIR: dir } });
      await atmo(['devices'], { fetch, env: { ATMO_STATE_DIR: dir, ATMO_URL: 'http://192.168.1.9:8081' } });
      await atmo(['devices'], { fetch, env: { ATMO_STATE_DIR: dir, ATMO_URL: 'http://127.0.0.1.evil.example:8081' } });
      await atmo(['devices'], { fetch, env: { ATMO_STATE_DIR: dir, ATMO_TOKEN: AGENT_TOKEN, ATMO_URL: 'http://192.168.1.9:8081' } });
      await atmo(['devices'], { fetch, env: { ATMO_STATE_DIR: dir, ATMO_URL: 'https://192.168.1.9:8081' } });
      expect(sent).toEqual(['Bearer from-the-file', null]);
    });
  });

  test.each([
    [{}, 'http://127.0.0.1:8081/api/v1/devices'],
    [{ ATMO_HTTP_HOST: '::1', ATMO_HTTP_PORT: '9000' }, 'http://[::1]:9000/api/v1/devices'],
    [{ ATMO_URL: 'http://localhost:7000/', ATMO_HTTP_PORT: '9000' }, 'http://localhost:7000/api/v1/devices'],
  ])('the hub of %j is at %s', async (env, expected) => {
    let url = '';
    const fetch = async (asked: string) => {
      url = asked;
      return Response.json({ devices: [] });
    };
    await atmo(['devices'], { fetch, env: { ATMO_TOKEN: 't', ...env } });
    expect(url).toBe(expected);
  });
});

describe('events', () => {
  const frame = (id: string, type: string) =>
    `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify({ id, type, subject: 'lamp', time: 'now', data: {} })}\n\n`;

  test('are printed one a line; a cut connection is resumed after the last one', async () => {
    const asked: (string | null)[] = [];
    const streams = [`retry: 2000\n\n: hello\n\n${frame('1', 'device.added')}`, `event: gap\ndata: {}\n\n${frame('2', 'device.removed')}`];
    const fetch = async (_url: string, init: RequestInit) => {
      asked.push(new Headers(init.headers).get('last-event-id'));
      return new Response(streams.shift());
    };
    const { code, out, err } = await atmo(['events', '--count', '2', '--json'], { fetch });
    expect(code).toBe(0);
    expect(
      out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).type),
    ).toEqual(['device.added', 'device.removed']);
    expect(asked).toEqual([null, '1']);
    expect(err).toContain('lost');
  });

  /** A connection that breaks after this text. */
  const broken = (text: string) => {
    let isSent = false;
    return new ReadableStream<Uint8Array>({
      pull(controller) {
        if (isSent) controller.error(new TypeError('terminated'));
        else controller.enqueue(new TextEncoder().encode(text));
        isSent = true;
      },
    });
  };

  test('go on after a restart of the hub, which is noted once', async () => {
    const answers = [
      () => new Response(broken(frame('1', 'device.added'))),
      () => Promise.reject(new TypeError('fetch failed')),
      () => Promise.reject(new TypeError('fetch failed')),
      () => Response.json({ code: 'SHUTTING_DOWN', detail: 'The hub stops' }, { status: 503 }),
      () => new Response(frame('2', 'device.removed')),
    ];
    const { code, out, err } = await atmo(['events', '--count', '2', '--json'], {
      fetch: async () => answers.shift()?.() ?? Response.error(),
    });
    expect(code).toBe(0);
    expect(out.split('\n').filter((line) => line !== '')).toHaveLength(2);
    expect(err).toBe('The connection to the hub was cut; this goes on as soon as the hub answers\nthe hub answers again\n');
  });

  test('end with the error where no hub has answered, and where it refuses', async () => {
    expect(await atmo(['events'])).toMatchObject({ code: 5, err: expect.stringContaining('No hub answers') });
    const answers = [
      new Response(broken(frame('1', 'device.added'))),
      Response.json({ code: 'TOKEN_INVALID', detail: 'no' }, { status: 401 }),
    ];
    const { code } = await atmo(['events'], { fetch: async () => answers.shift() ?? Response.error() });
    expect(code).toBe(3);
  });
});
