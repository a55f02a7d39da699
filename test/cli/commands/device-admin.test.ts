import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { CommissionRequest, DeviceAdministration } from '../../../src/core/devices/device-administration.ts';
import type { DeviceDescription } from '../../../src/core/devices/device-model.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import type { DeviceId } from '../../../src/core/ids.ts';
import { deviceAdminTools } from '../../../src/tools/builtin/device-tools.ts';
import type { NamingPorts } from '../../../src/tools/names/name-references.ts';
import { approvalsSaying } from '../../calls/approvals-fake.ts';
import { makeTool, settled } from '../../calls/pipeline-fixture.ts';
import { makeDevice, makeHttpApi, TOKEN } from '../../http/http-fixture.ts';
import { NO_NAMING } from '../../tools/builtin/device-names-fixture.ts';
import { atmo, fetchFrom, withDirectory } from '../cli-fixture.ts';

const LAMP = makeDevice('lamp');
const V1 = { number: 1, text: '' };
const V2 = { number: 2, text: 'v2' };

test('the owner of a hub without Matter gets that reason, without the name of a tool', async () => {
  await withDirectory(async (dir) => {
    writeFileSync(join(dir, 'owner.token'), TOKEN, { mode: 0o600 });
    const { code, err } = await atmo(['device', 'updates'], { fetch: fetchFrom(makeHttpApi().httpApi), env: { ATMO_STATE_DIR: dir } });
    expect([code, err]).toEqual([2, expect.stringContaining('nothing behind this command: its Matter part is off (matter.enabled')]);
    expect(err).not.toContain('hub:');
  });
});

/** An administration that remembers what it was asked, over the hub's real tools. */
function makeHub(answers: Partial<DeviceAdministration> = {}, node: readonly string[] = [], naming: NamingPorts = NO_NAMING) {
  const asked: unknown[][] = [];
  const defaults: Record<string, unknown> = {
    halfCommissioned: [{ id: 'h1', startedAtMs: 0, step: 'join', advice: 'reset it' }],
    groups: [{ id: 5, name: 'All', members: [{ device: 'lamp', endpoint: 1 }] }],
    credentials: [{ name: 'home', kind: 'wifi', network: 'MyNet' }],
    share: { qrCode: 'MT:Y.K90AFN00KA0648G00', manualCode: '34970112332', expiresAt: '2026-01-01T00:05:00.000Z' },
    fabrics: [{ fabricIndex: 1, label: 'hub', vendorId: 65521, fabricId: '1', isOurs: true }],
    decommission: ['lamp'],
    ping: { roundTripMs: 12.5 },
    rename: LAMP,
    setArea: LAMP,
    interview: [LAMP],
    diagnostics: { uptime_seconds: 5 },
    createGroup: { id: 6, name: 'Two', members: [] },
    addGroupMember: { id: 5, name: 'All', members: [] },
    removeGroupMember: { id: 5, name: 'All', members: [] },
    accessControl: [{ privilege: 5 }],
    bindings: [{ node: '7', endpoint: 1 }],
    updates: {
      folder: '/var/lib/updates',
      offers: [{ device: 'lamp', name: 'Lamp', from: V1, to: V2, file: 'lamp.ota', sizeBytes: 9, notesUrl: 'https://example.com/n' }],
      unfit: [{ file: 'x.ota', reason: 'no device here is vendor 0x0001 any product' }],
    },
    importThread: { name: 'mesh', kind: 'thread', network: 'OpenThread' },
    removeCredentials: true,
  };
  const administration = new Proxy(answers, {
    get: (target, name: keyof DeviceAdministration) =>
      target[name] ??
      ((...args: unknown[]) => {
        asked.push([
          name,
          ...args.filter((arg) => !(typeof arg === 'object' && arg !== null && 'signal' in arg && Object.keys(arg).length === 1)),
        ]);
        return defaults[name];
      }),
  }) as DeviceAdministration;
  const setup = makeHttpApi({}, { approvals: approvalsSaying({ state: 'approved', approvalId: 'ap-1', by: ['owner'] }) });
  const devices = { resolve: (text: string) => text as DeviceId };
  const bounds = {
    ownerOf: (id: DeviceId) => id,
    nodeOf: (id: DeviceId) => (node.length > 0 ? (node as readonly DeviceId[]) : [id]),
    wholeOf: (id: DeviceId) => (node[0] as DeviceId | undefined) ?? id,
    isGuarded: () => false,
    isOfKind: () => true,
    servedClusters: () =>
      [
        { endpoint: 1, cluster: 'OnOff', served_by: 'profile' },
        { endpoint: 1, cluster: 'Cluster0xfff1fc01', served_by: 'data_model' },
        { endpoint: 2, cluster: 'OnOff', served_by: 'profile' },
      ] as const,
    riskOn: () => 'low' as const,
    riskOfCommand: () => 'none' as const,
    outcomeOf: () => ({}),
    valuesOn: () => [],
  };
  for (const tool of deviceAdminTools({ administration, devices, bounds, riskOf: () => 'low', naming })) setup.registry.register(tool);
  setup.directory.devices = [LAMP];
  const run = (argv: readonly string[], io = {}) => atmo(argv, { fetch: fetchFrom(setup.httpApi), ...io });
  return { ...setup, asked, run };
}

test('the answer to a replacement says what became of the old device and what the new one lacks', async () => {
  const { run, registry } = makeHub();
  const replaced = {
    device_id: 'lamp',
    former_device_id: 'bulb',
    old_device: 'forgotten',
    lacking_tools: ['lamp_dim'],
    lacking_readings: [],
    used_by: [{ kind: 'automation', id: 'night', as: ['lamp_dim'] }],
    groups_left: [7],
  };
  const properties = { device_id: { type: 'string' }, new_device_id: { type: 'string' }, confirm: { type: 'boolean' } };
  const handler = async () => replaced;
  registry.register(
    makeTool({
      namespace: 'hub',
      name: 'replace_device',
      permissions: ['admin:device:{device_id}'],
      parameters: { type: 'object', properties },
      handler,
    }),
  );
  const { out, err } = await run(['device', 'replace', 'lamp', 'bulb', '--confirm']);
  expect(err).toContain('Leaves the home:  lamp: ');
  expect(out).toBe(
    [
      'bulb is lamp now, with its name, room, grants, automations, scenes and history',
      'The old device did not answer and is forgotten; reset it before you use it again. Other apps that it was shared with do not have the new one yet.',
      'It lacks lamp_dim, which automation night uses',
      'It could not join the groups 7; add it to them when it answers',
      '',
    ].join('\n'),
  );
});

test('a replacement says at a terminal what moves and cannot be undone, and runs only after a yes', async () => {
  const { run, registry } = makeHub();
  const hubTool = { namespace: 'hub', permissions: ['admin:hub'] } as const;
  const properties = { device_id: { type: 'string' }, new_device_id: { type: 'string' }, confirm: { type: 'boolean' } };
  let replaced = 0;
  const replace = async () => ({ device_id: 'lamp', former_device_id: 'bulb', old_device: 'left', replaced: ++replaced });
  const permissions = ['admin:device:{device_id}'];
  registry.register(
    makeTool({ ...hubTool, name: 'replace_device', permissions, parameters: { type: 'object', properties }, handler: replace }),
  );
  const uses = [
    { kind: 'automation', id: 'night' },
    { kind: 'scene', id: 'Movie' },
  ];
  const parameters = { type: 'object', properties: { name: { type: 'string' } } };
  const names = async () => ({ devices: [{ device_id: 'lamp', used_by: uses }] });
  registry.register(makeTool({ ...hubTool, name: 'list_device_names', parameters, handler: names }), { replace: true });
  const asked: string[] = [];
  const typing = (line: string) => async (prompt: string) => {
    asked.push(prompt);
    return { line };
  };
  const refused = await run(['device', 'replace', 'lamp', 'bulb'], { askLine: typing('y') });
  expect(refused.err.split('\n')).toEqual([
    'Leaves the home:  lamp: lamp',
    'Takes its place:  bulb',
    'It gets the id, name, room, rights, groups and history of the old one, and these go on with it: automation night, scene Movie',
    'This cannot be undone: the old device would have to be added again, as a new one',
    'Nothing was replaced',
    '',
  ]);
  expect([asked, replaced]).toEqual([['Replace it? Type yes: '], 0]);
  const done = await run(['device', 'replace', 'lamp', 'bulb'], { askLine: typing(' Yes') });
  expect([done.out.split('\n')[0], replaced]).toEqual([
    'bulb is lamp now, with its name, room, grants, automations, scenes and history',
    1,
  ]);
});

test('diagnostics name the functions of a device in words, and clusters in the JSON', async () => {
  const { run } = makeHub();
  const { out } = await run(['device', 'diagnostics', 'lamp']);
  expect(out).toMatch(/^uptime_seconds +5\nfriendly tools +on off\ntools in units of Matter +vendor 1\n$/);
  const { clusters } = (await run(['device', 'diagnostics', 'lamp', '--json'])).json();
  expect(clusters).toContainEqual({ endpoint: 1, cluster: 'Cluster0xfff1fc01', served_by: 'data_model' });
});

describe('administration of devices', () => {
  test.each([
    ['device rename lamp Sun', ['rename', 'lamp', 'Sun']],
    ['device area lamp Hall', ['setArea', 'lamp', 'Hall']],
    ['device move lamp Hall', ['setArea', 'lamp', 'Hall']],
    ['device area lamp', ['setArea', 'lamp', null]],
    ['device identify lamp --seconds 3', ['identify', 'lamp', 3]],
    ['device ping lamp', ['ping', 'lamp']],
    ['device interview lamp', ['interview', 'lamp']],
    ['device share lamp --seconds 200', ['share', 'lamp', 200]],
    ['device share lamp --close', ['closeShare', 'lamp']],
    ['device fabrics lamp', ['fabrics', 'lamp']],
    ['device remove-fabric lamp 2', ['removeFabric', 'lamp', 2]],
    ['device remove lamp', ['decommission', 'lamp', expect.objectContaining({ isForced: false })]],
    ['device remove lamp --whole-node', ['decommission', 'lamp', expect.objectContaining({ isForced: false })]],
    ['device remove lamp --force', ['decommission', 'lamp', expect.objectContaining({ isForced: true })]],
    ['device diagnostics lamp', ['diagnostics', 'lamp']],
    ['device updates', ['updates']],
    ['device acl lamp', ['accessControl', 'lamp']],
    ['device set-acl lamp -', ['setAccessControl', 'lamp', [{ privilege: 5 }]]],
    ['device bindings lamp/2', ['bindings', 'lamp', 2]],
    [
      'device bind switch/3 lamp --cluster OnOff',
      ['bind', { device: 'switch', endpoint: 3 }, { device: 'lamp', endpoint: 1, cluster: 'OnOff' }],
    ],
    ['device unbind switch lamp/2', ['unbind', { device: 'switch', endpoint: 1 }, { device: 'lamp', endpoint: 2 }]],
    ['groups', ['groups']],
    [
      'group create Two a b/2',
      [
        'createGroup',
        'Two',
        [
          { device: 'a', endpoint: 1 },
          { device: 'b', endpoint: 2 },
        ],
      ],
    ],
    ['group add 5 lamp', ['addGroupMember', 5, { device: 'lamp', endpoint: 1 }]],
    ['group drop 5 lamp/2', ['removeGroupMember', 5, { device: 'lamp', endpoint: 2 }]],
    ['group remove 5', ['deleteGroup', 5]],
    ['group add All lamp', ['addGroupMember', 5, { device: 'lamp', endpoint: 1 }]],
    ['group call 5 OnOff Off', ['invokeGroup', 5, 'OnOff', 'Off', {}]],
    ['credentials list', ['credentials']],
    ['credentials remove home', ['removeCredentials', 'home']],
    ['credentials thread-import mesh http://192.168.1.5:8081', ['importThread', 'mesh', 'http://192.168.1.5:8081']],
    ['half-commissioned', ['halfCommissioned']],
    ['forget h1', ['forget', 'h1']],
  ])('atmo %s asks the administration', async (line, expected) => {
    const { asked, run } = makeHub();
    const { code, err } = await run([...line.split(' '), '--json'], { stdin: '[{"privilege":5}]' });
    expect([code, err]).toEqual([0, '']);
    expect(asked).toContainEqual(expected);
  });

  test('share shows a QR code to people and only the codes to programs', async () => {
    const { run } = makeHub();
    const { out } = await run(['device', 'share', 'lamp']);
    expect(out.match(/█|▀|▄/g)?.length).toBeGreaterThan(100);
    expect(out).toMatch(/Manual code {2}34970112332/);
    expect((await run(['device', 'share', 'lamp', '--json'])).json()).toMatchObject({ manual_code: '34970112332' });
  });

  test('devices behind a bridge are shared and removed with the bridge only, with their number', async () => {
    const { run, asked } = makeHub({ decommission: async () => ['bridge', 'door', 'lamp'] as unknown as readonly DeviceId[] }, [
      'bridge',
      'door',
      'lamp',
    ]);
    expect((await run(['device', 'share', 'door'])).out).toMatch(
      /^door cannot be shared alone: this opens bridge with all its 3 devices\n/,
    );
    expect((await run(['device', 'share', 'door', '--close'])).out).toBe(
      'Pairing of bridge with all its 3 devices is closed: no further controller can join\n',
    );
    const refused = await run(['device', 'remove', 'door']);
    expect(refused.code).not.toBe(0);
    expect(refused.err).toMatch(/door cannot leave alone: it belongs to bridge, and this would remove 3 devices/);
    expect(asked.map(([name]) => name)).not.toContain('decommission');
    expect((await run(['device', 'remove', 'bridge'])).out).toBe('bridge is removed: 3 devices are gone (bridge, door, lamp)\n');
  });

  test('a rename prints the new tool names, the users of the former names, and other devices with the new one', async () => {
    const kept = { device: LAMP.id, names: ['Sun', 'Lamp'], prefixes: ['sun_2', 'lamp'], tools: ['sun_2_on', 'lamp_on'] };
    const register = { ...NO_NAMING.register, namesOf: () => kept, all: () => [kept], holderOfWanted: () => 'star' as DeviceId };
    const uses = { of: () => [{ kind: 'automation', id: 'night', as: ['lamp_on'] } as const] };
    const { run } = makeHub({ rename: async () => ({ ...LAMP, name: 'Sun' }) }, [], { ...NO_NAMING, register, uses });
    expect((await run(['device', 'rename', 'lamp', 'Sun'])).out).toBe(
      [
        'lamp is called Sun',
        'The names of its tools begin with sun_2_; names that begin with lamp still mean them',
        'Its names are used by automation night; all of these go on working',
        'Note: That name belongs to the tools of star: the tools of lamp begin with sun_2_',
        '',
      ].join('\n'),
    );
    expect((await run(['device', 'names'])).out).toBe(
      'lamp (removed): Sun, before Lamp\n  tools: sun_2_…, lamp_…\n  used by automation night\n',
    );
    expect((await run(['device', 'free-name', 'lamp'])).err).toContain('lamp is still used by automation night');
  });

  test('an update is a job with visible steps, and ends with the version of the device', async () => {
    const asked: unknown[] = [];
    const update: DeviceAdministration['update'] = async (device, { file, onProgress }) => {
      asked.push([device, file]);
      onProgress({ step: 'downloading', fraction: 0.4, note: '4 of 10 bytes' });
      return { device, file: file ?? 'newest.ota', from: V1, to: V2 };
    };
    const { run } = makeHub({ update });
    const { code, out } = await run(['device', 'update', 'lamp', '--file', 'lamp.ota']);
    expect([code, out]).toEqual([0, 'lamp went from version 1 to v2 (2)\n']);
    expect((await run(['device', 'update', 'lamp', '--json'])).json()).toMatchObject({ file: 'newest.ota', to: { number: 2 } });
    expect(asked).toEqual([
      ['lamp', 'lamp.ota'],
      ['lamp', undefined],
    ]);
  });

  test('updates are a table of images that fit and one of images that do not', async () => {
    const { out } = await makeHub().run(['device', 'updates']);
    expect(out).toMatch(/lamp +1 +v2 \(2\) +lamp\.ota +https:\/\/example\.com\/n/);
    expect(out).toMatch(/x\.ota +no device here is vendor/);
  });

  test('the error for an unknown group names the list of groups', async () => {
    const { run } = makeHub();
    expect(await run(['group', 'remove', 'Nobody'])).toMatchObject({ code: 2, err: expect.stringContaining('"atmo groups" lists them') });
  });

  test('lists are tables', async () => {
    const { run } = makeHub();
    expect((await run(['half-commissioned'])).out).toMatch(/^ID +STEP +ADVICE\nh1 +join +reset it\n$/);
    expect((await run(['device', 'fabrics', 'lamp'])).out).toMatch(/FABRIC_INDEX.*\n1 +hub/);
    expect((await run(['groups'])).out).toMatch(/5 +All +lamp\/1\n/);
  });
});

describe('secrets', () => {
  test('come from stdin or a file, never as an argument', async () => {
    const { asked, run } = makeHub();
    expect((await run(['credentials', 'wifi', 'home', 'MyNet'], { stdin: 'hunter22\n' })).code).toBe(0);
    await withDirectory(async (dir) => {
      writeFileSync(`${dir}/dataset`, '0E08AA\n');
      expect((await run(['credentials', 'thread', 'mesh', '--dataset', `@${dir}/dataset`])).code).toBe(0);
    });
    expect(asked).toEqual([
      ['setWifi', 'home', 'MyNet', 'hunter22'],
      ['setThread', 'mesh', '0E08AA'],
    ]);
    const spoken = await run(['credentials', 'wifi', 'home', 'MyNet', '--password', 'hunter22']);
    expect([spoken.code, spoken.err.includes('hunter22')]).toEqual([2, false]);
    expect((await run(['credentials', 'wifi', 'home', 'MyNet'], { stdin: '' })).code).toBe(2);
  });
});

describe('commission', () => {
  const CODE = '34970112332';

  function makeCommissioner(outcome: () => Promise<unknown>) {
    const requests: CommissionRequest[] = [];
    const hub = makeHub({
      async commission(request, { onProgress }) {
        requests.push(request);
        onProgress({ step: 'discover', note: 'found at fe80::1' });
        await settled();
        onProgress({ step: 'join', note: 'in the fabric' });
        await settled();
        return (await outcome()) as never;
      },
    });
    return { ...hub, requests };
  }

  test('takes the code as argument, from stdin and from a file, prints each step and then the tools', async () => {
    const { requests, run, addTool } = makeCommissioner(async () => ({ nodeId: '7', devices: [LAMP], findings: [], recognised: [] }));
    addTool({ name: 'lamp_on', namespace: 'matter', metadata: { title: 'Turn the lamp on', device: 'lamp' } });
    const { code, out, err } = await run(['commission', CODE, '--name', 'Sun', '--area', 'Hall', '--wifi', 'home']);
    expect([code, out]).toEqual([0, expect.stringMatching(/lamp is lamp\n.*\nmatter:lamp_on@1\.0\.0/)]);
    expect(err).toMatch(/discover: found at fe80::1[\s\S]*join: in the fabric/);
    expect((await run(['commission', '-', '--json'], { stdin: `${CODE}\n` })).json()).toMatchObject({
      node_id: '7',
      devices: [{ id: 'lamp' }],
    });
    await withDirectory(async (dir) => {
      writeFileSync(`${dir}/code`, `${CODE}\n`);
      await run(['commission', `@${dir}/code`, '--address', '[fe80::1]:5540', '--attestation', 'strict', '--accept-attestation']);
    });
    await run(['commission', '--passcode', '-', '--discriminator', '3840'], { stdin: '20202021' });
    expect(requests).toEqual([
      { code: CODE, name: 'Sun', area: 'Hall', wifi: 'home' },
      { code: CODE },
      { code: CODE, address: { host: 'fe80::1', port: 5540 }, attestation: 'strict', acceptAttestation: true },
      { passcode: 20202021, discriminator: 3840 },
    ]);
  });

  test('a failure exits with 4 and prints step and reason, without the code', async () => {
    const { run } = makeCommissioner(async () => {
      throw new AtmoError('COMMISSIONING_FAILED', 'The device did not accept the code; check it', { step: 'connect' });
    });
    const { code, err, json } = await run(['commission', CODE, '--json']);
    expect([code, json().error]).toMatchObject([4, { code: 'COMMISSIONING_FAILED', details: { step: 'connect' } }]);
    expect(err).not.toContain(CODE);
  });
});

describe('profiles', () => {
  test('check prints each mistake and exits with 2', async () => {
    const mistake = { file: 'a.json', pointer: '/risk', problem: '"huge" does not exist', fix: 'use low' };
    const profileCheck = async (files: readonly string[]) => (files.length === 0 ? [] : [mistake]);
    expect(await atmo(['profile', 'check'], { profileCheck })).toMatchObject({ code: 0, out: 'all profiles are fine\n' });
    expect(await atmo(['profile', 'check', 'a.json'], { profileCheck })).toMatchObject({
      code: 2,
      out: 'a.json at /risk: "huge" does not exist\n    fix: use low\n',
    });
    expect((await atmo(['profile', 'check', 'a.json', '--json'], { profileCheck })).json()).toEqual({ ok: false, problems: [mistake] });
  });

  test('draft gets the full description of the device', async () => {
    const { run, directory } = makeHub();
    directory.descriptions.set('lamp', { device: LAMP, endpoints: [] });
    const profileDraft = async ({ device }: DeviceDescription) => [{ path: 'devices/x.json', content: { product: device.product.name } }];
    const draft = await run(['profile', 'draft', 'lamp'], { profileDraft });
    expect(JSON.parse(draft.out)).toEqual({ product: 'Product' });
    expect(draft.err).toBe('device-profiles/devices/x.json\n');
    expect((await run(['profile', 'draft', 'moon'], { profileDraft })).code).toBe(2);
  });
});

test('serve runs the hub and returns its exit code', async () => {
  expect((await atmo(['serve'], { serve: async () => 7 })).code).toBe(7);
});
