import { describe, expect, test } from 'vitest';
import { homeNameTools } from '../../../src/tools/builtin/devices/home-name-tools.ts';
import { makeDevice, makeGateway } from '../../gateway/gateway-room.ts';
import { atmo, fetchFrom } from '../cli-room.ts';

/** A home whose names are kept in this process by the tools that the hub has. */
function makeHome() {
  const kept = { devices: new Map<string, readonly string[]>(), areas: new Map<string, { floor?: string; aliases: readonly string[] }>() };
  const names = {
    revision: 0,
    deviceAliases: (device: string) => kept.devices.get(device) ?? [],
    areaNames: (area: string) => kept.areas.get(area) ?? { aliases: [] },
    setDeviceAliases: (device: string, aliases: readonly string[]) => {
      kept.devices.set(device, aliases);
      return aliases;
    },
    describeArea: (area: string, described: { floor?: string; aliases: readonly string[] }) => {
      kept.areas.set(area, described);
      return described;
    },
  };
  const room = makeGateway({ homeNames: names });
  room.directory.devices = [
    makeDevice('bed-lamp', { area: 'Bedroom' }),
    makeDevice('fan', { area: 'Bedroom' }),
    makeDevice('tap', { area: 'Bath' }),
    makeDevice('gate'),
  ];
  const devices = { resolve: (name: string) => name };
  for (const tool of homeNameTools({ names, devices, directory: room.directory } as never)) room.registry.register(tool);
  const run = (...argv: string[]) => atmo(argv, { fetch: fetchFrom(room.gateway) });
  return { kept, run, heard: room.heard };
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

  test('lose their floor and names again, one without the other', async () => {
    const { kept, run } = makeHome();
    await run('area', 'floor', 'Bath', 'Ground floor');
    await run('area', 'alias', 'Bath', 'Bad');
    expect((await run('area', 'floor', 'Bath')).out).toBe('Bath is on no floor\n');
    expect(kept.areas.get('Bath')).toEqual({ aliases: ['Bad'] });
    expect((await run('area', 'alias', 'Bath')).out).toBe('Bath has no other names\n');
    expect(kept.areas.get('Bath')).toEqual({ aliases: [] });
  });

  test('that no device is in are an error that suggests', async () => {
    const { run } = makeHome();
    expect(await run('area', 'floor', 'Bat', 'x')).toMatchObject({ code: 2, err: expect.stringContaining('there is Bath') });
    expect(await run('area', 'alias', 'Bath', '')).toMatchObject({ code: 2, err: expect.stringContaining('cannot be empty') });
  });
});

test('a device gets other names', async () => {
  const { kept, run } = makeHome();
  expect((await run('device', 'alias', 'bed-lamp', 'Leselampe')).out).toBe('bed-lamp is also called Leselampe\n');
  expect(kept.devices.get('bed-lamp')).toEqual(['Leselampe']);
  await run('device', 'alias', 'bed-lamp');
  expect(kept.devices.get('bed-lamp')).toEqual([]);
});
