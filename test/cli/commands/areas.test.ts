import { describe, expect, test } from 'vitest';
import { homeNameTools } from '../../../src/tools/builtin/home-name-tools.ts';
import { StoredHomeNames } from '../../../src/tools/names/home-names.ts';
import { NameReferences, type ReferringText } from '../../../src/tools/names/name-references.ts';
import { makeDevice, makeHttpApi } from '../../http/http-fixture.ts';
import { ManualClock } from '../../manual-clock.ts';
import { MemoryKeyValueStore } from '../../memory-key-value-store.ts';
import { atmo, fetchFrom } from '../cli-fixture.ts';

/** A home whose names are kept in this process by the tools that the hub has. */
function makeHome() {
  const names = new StoredHomeNames(new MemoryKeyValueStore(new ManualClock()));
  const setup = makeHttpApi({ homeNames: names });
  setup.directory.devices = [
    makeDevice('bed-lamp', { area: 'Bedroom' }),
    makeDevice('fan', { area: 'Bedroom' }),
    makeDevice('tap', { area: 'Bath' }),
    makeDevice('gate'),
  ];
  const devices = { resolve: (name: string) => name };
  const written: ReferringText[] = [];
  const uses = new NameReferences();
  uses.add(() => written);
  const administration = {
    setArea: (id: string, area: string) => {
      setup.directory.devices = setup.directory.devices.map((device) => (device.id === id ? { ...device, area } : device));
    },
  };
  const parts = { names, devices, directory: setup.directory, readings: { sensors: () => [] }, administration, uses };
  for (const tool of homeNameTools(parts as never)) setup.registry.register(tool);
  const run = (...argv: string[]) => atmo(argv, { fetch: fetchFrom(setup.httpApi) });
  return { names, run, written, heard: setup.heard };
}

describe('areas', () => {
  test('are listed with their devices, floors and other names', async () => {
    const { run, heard } = makeHome();
    expect((await run('area', 'floor', 'bedroom', 'Upstairs')).out).toBe('bedroom is on Upstairs\n');
    expect((await run('area', 'alias', 'Bedroom', 'Schlafzimmer', 'the den')).out).toBe('Bedroom is also called Schlafzimmer, the den\n');
    expect((await run('areas', '--json')).json().areas).toEqual([
      { area: 'Bath', floor: null, aliases: [], devices: ['tap'] },
      { area: 'Bedroom', floor: 'Upstairs', aliases: ['Schlafzimmer', 'the den'], devices: ['bed-lamp', 'fan'] },
    ]);
    heard.length = 0;
    expect((await run('areas')).out).toMatch(/Bedroom +Upstairs +Schlafzimmer, the den +2\n/);
    // A list is no call: it leaves nothing in the journal.
    expect(heard).toEqual([]);
  });

  test('get another name with all their devices, and the old one stays valid', async () => {
    const { names, run, written } = makeHome();
    await run('area', 'floor', 'Bedroom', 'Upstairs');
    written.push({ kind: 'rule', id: 'quiet', content: { area: 'bedroom' } });
    written.push({ kind: 'token', id: 'guest', content: ['device:control:@area/bedroom'] });
    expect((await run('area', 'rename', 'bedroom', 'Guest room')).out).toBe(
      'The room is called Guest room now; 2 devices moved along\nGo on naming it as before: rule quiet, token guest\n',
    );
    expect((await run('areas', '--json')).json().areas).toEqual([
      { area: 'Bath', floor: null, aliases: [], devices: ['tap'] },
      { area: 'Guest room', floor: 'Upstairs', aliases: ['Bedroom'], devices: ['bed-lamp', 'fan'] },
    ]);
    expect(names.areaNames('Bedroom')).toEqual({ aliases: [] });
    expect((await run('area', 'floor', 'Bedroom', 'Attic')).out).toBe('Bedroom is on Attic\n');
    expect(names.areaNames('Guest room').floor).toBe('Attic');
  });

  test('cannot get an invisible name, or one that looks like that of another room', async () => {
    const { names, run } = makeHome();
    expect((await run('area', 'rename', 'Bedroom', '\u200b\u200b')).err).toContain('no character that anybody sees');
    expect((await run('area', 'rename', 'Bedroom', 'Ba\u200bth\u{e0041}')).err).toContain('There is a room Bath already');
    await run('area', 'rename', 'Bedroom', 'Guest\u2060 room\ufe0f');
    expect(names.areaToday('Bedroom')).toBe('Guest room');
  });

  test('stay as they are where that is their name already', async () => {
    const { run } = makeHome();
    await run('area', 'alias', 'Bedroom', 'the den');
    expect((await run('area', 'rename', 'the den', 'Bedroom')).out).toBe('The room is called Bedroom already\n');
  });

  test('are merged only with --merge, and not while something names the room that ends', async () => {
    const { names, run, written } = makeHome();
    const devicesOf = async () => (await run('areas', '--json')).json().areas;
    expect((await run('area', 'rename', 'Bath', 'bedroom')).err).toMatch(/There is a room Bedroom already\..*with merge/s);
    written.push({ kind: 'token', id: 'guest', content: ['device:control:@area/bath'] });
    expect((await run('area', 'rename', 'Bath', 'bedroom', '--merge')).err).toContain(
      'Bath is named by token guest. Write Bedroom there first',
    );
    expect(await devicesOf()).toMatchObject([{ area: 'Bath' }, { area: 'Bedroom' }]);
    written.length = 0;
    expect((await run('area', 'rename', 'Bath', 'bedroom', '--merge')).out).toBe('The room is called Bedroom now; 1 device moved along\n');
    expect(await devicesOf()).toEqual([{ area: 'Bedroom', floor: null, aliases: ['Bath'], devices: ['bed-lamp', 'fan', 'tap'] }]);
    expect([names.areaToday('bath'), names.areaMeant('bath')]).toEqual(['Bedroom', 'bath']);
  });

  test('keep a former name until it is freed', async () => {
    const { names, run, written } = makeHome();
    await run('area', 'rename', 'Bedroom', 'Guest room');
    expect((await run('area', 'rename', 'Bath', 'Bedroom')).err).toContain('There is a room Guest room already');
    written.push({ kind: 'rule', id: 'quiet', content: { area: 'bedroom' } });
    expect((await run('area', 'free-name', 'bedroom')).err).toContain('bedroom is still used by rule quiet. Write Guest room there first');
    expect((await run('area', 'free-name', 'bedroom', '--confirm')).out).toBe('bedroom means Guest room no more\n');
    expect((await run('area', 'free-name', 'bedroom')).err).toContain('"bedroom" is not a former name of a room');
    expect((await run('area', 'rename', 'Bath', 'Bedroom')).code).toBe(0);
    expect([names.areaToday('bedroom'), names.areaToday('bath'), names.areaNames('Guest room')]).toEqual([
      'bedroom',
      'Bedroom',
      { aliases: [] },
    ]);
  });

  test('keep a former name while the configuration uses it, and its devices move with the room', async () => {
    const { run, written } = makeHome();
    const placed = { kind: 'setting', id: 'sensors.devices.probe.area', content: 'Guest Bath', isPlace: true } as const;
    await run('area', 'rename', 'Bath', 'Guest Bath');
    written.push(placed);
    expect((await run('area', 'rename', 'guest-bath', 'Bedroom', '--merge')).out).toBe(
      'The room is called Bedroom now; 1 device moved along\nGo on naming it as before: setting sensors.devices.probe.area\n',
    );
    expect((await run('area', 'free-name', 'guest-bath')).err).toContain(
      'guest-bath is still used by setting sensors.devices.probe.area. Write Bedroom there first',
    );
    written[0] = { ...placed, content: 'Bedroom' };
    expect((await run('area', 'free-name', 'guest-bath')).out).toBe('guest-bath means Bedroom no more\n');
  });

  test('lose their floor and names again, one without the other', async () => {
    const { names, run } = makeHome();
    await run('area', 'floor', 'Bath', 'Ground floor');
    await run('area', 'alias', 'Bath', 'Bad');
    expect((await run('area', 'floor', 'Bath')).out).toBe('Bath is on no floor\n');
    expect(names.areaNames('Bath')).toEqual({ aliases: ['Bad'] });
    expect((await run('area', 'alias', 'Bath')).out).toBe('Bath has no other names\n');
    expect(names.areaNames('Bath')).toEqual({ aliases: [] });
  });

  test('without devices are an error with a suggestion', async () => {
    const { run } = makeHome();
    expect(await run('area', 'floor', 'Bat', 'x')).toMatchObject({ code: 2, err: expect.stringContaining('there is "Bath"') });
    expect(await run('area', 'alias', 'Bath', '')).toMatchObject({ code: 2, err: expect.stringContaining('cannot be empty') });
  });
});

test('a device gets other names', async () => {
  const { names, run } = makeHome();
  expect((await run('device', 'alias', 'bed-lamp', 'Leselampe')).out).toBe('bed-lamp is also called Leselampe\n');
  expect(names.deviceAliases('bed-lamp')).toEqual(['Leselampe']);
  await run('device', 'alias', 'bed-lamp');
  expect(names.deviceAliases('bed-lamp')).toEqual([]);
});
