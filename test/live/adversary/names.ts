import type { Attempt } from './attempt.ts';
import { each, refused } from './attempt.ts';

const OPEN = { pin: '73916428' };

/** Other tools by every name that they have or that a resolver could take for one. */
export const NAMES: readonly Attempt[] = [
  refused('canonical ids of tools of others', (me, { lock, beacon, climate }) =>
    each([`matter:${lock.slug}_unlock`, `matter:${beacon.slug}_turn_on`, `matter:${climate.slug}_set_temperature`], (tool) =>
      me.invoke(tool, {}),
    ),
  ),
  refused('bare names of tools of others', (me, { lock, beacon }) =>
    each([`${lock.slug}_unlock`, `${beacon.slug}_turn_on`, `${beacon.slug}_toggle`], (tool) => me.invoke(tool, {})),
  ),
  refused('the names that models use for tools of others', (me, { lock, beacon }) =>
    each([`matter_${lock.slug}_unlock`, `matter__${lock.slug}_unlock`, `matter_${beacon.slug}_turn_on`], (tool) => me.invoke(tool, OPEN)),
  ),
  refused('tools of others at a version', (me, { lock }) =>
    each(['1.0.0', '0.0.0', '99.0.0'], (version) => me.invoke(`matter:${lock.slug}_unlock@${version}`, OPEN)),
  ),
  refused('tools of others at a range of versions', (me, { lock }) =>
    each(['*', '>=0', '^1', '1.x || 2.x', 'latest', '<99 >=0.0.1'], (range) => me.invoke(`matter:${lock.slug}_unlock@${range}`, OPEN)),
  ),
  refused('tools of others in upper case', (me, { lock }) =>
    each([`MATTER:${lock.slug}_UNLOCK`, `Matter:${title(lock.slug)}_unlock`, `${lock.slug.toUpperCase()}_UNLOCK`], (tool) =>
      me.invoke(tool, OPEN),
    ),
  ),
  refused('tools of others in full-width letters', (me, { lock }) => me.invoke(wide(`matter:${lock.slug}_unlock`), OPEN)),
  refused('tools of others with letters that look alike', (me, { lock }) =>
    each(['\u0430', '\u0336', '\u200b', '\u202e', '\ufeff', '\u0000'], (sign) => me.invoke(`matter:${lock.slug}${sign}_unlock`, OPEN)),
  ),
  refused('tools of others with blanks, quotes and line ends around', (me, { lock }) =>
    each([' ', '\t', '\n', '"', "'", '`', ';'], (sign) => me.invoke(`${sign}matter:${lock.slug}_unlock${sign}`, OPEN)),
  ),
  refused('tools of others in other namespaces', (me, { lock }) =>
    each(['core', 'hub', 'matter:matter', 'mcp', ''], (namespace) => me.invoke(`${namespace}:${lock.slug}_unlock`, OPEN)),
  ),
  refused('the own tool with a path to another', (me, { lock }) =>
    each(
      [`matter:desk_lamp_turn_on/../${lock.slug}_unlock`, `desk_lamp_turn_on,${lock.slug}_unlock`, `desk_lamp_turn_on\0${lock.slug}`],
      (tool) => me.invoke(tool, OPEN),
    ),
  ),
  refused('tools named like members of every object', (me) =>
    each(['__proto__', 'constructor', 'toString', 'core:hasOwnProperty', 'matter:__proto__@1.0.0'], (tool) => me.invoke(tool, {})),
  ),
  refused('names of tools that are endless or empty', (me) =>
    each(['a'.repeat(4_000), ':', '@', '@1.0.0', '%', '../../etc/passwd'], (tool) => me.invoke(tool, {})),
  ),
  refused('a description of tools of others', (me, { lock, beacon }) =>
    each([`matter:${lock.slug}_unlock`, `${beacon.slug}_turn_on`, `matter_${lock.slug}_read_lock`], (tool) =>
      each(['', '?format=openai', '?format=anthropic'], (query) => me.get(`/api/v1/tools/${encodeURIComponent(tool)}${query}`)),
    ),
  ),
  refused('the own tool told to reach elsewhere', (me, { beacon }) =>
    each<string>(['device_id', 'device', 'deviceId', 'node_id', 'target', 'endpoint', '__proto__'], (key) =>
      me.send({
        method: 'POST',
        path: '/api/v1/tools/desk_lamp_turn_on/invoke',
        body: `{${JSON.stringify(key)}:${JSON.stringify(beacon.id)}}`,
      }),
    ),
  ),
  refused('class tools with ids of others', (me, { lock, beacon, climate }) =>
    each(
      [
        ['control_device', { device_id: lock.id, command: 'unlock', params: OPEN }],
        ['turn_on_light', { device_id: beacon.id }],
        ['turn_off_light', { device_id: beacon.id }],
        ['set_thermostat', { device_id: climate.id, target_temp: 25 }],
        ['set_cover', { device_id: lock.id, open_percent: 100 }],
      ] as const,
      ([tool, params]) => me.invoke(tool, params),
    ),
  ),
  refused('class tools with names of others, in any case', (me, { beacon }) =>
    each([beacon.name, beacon.name.toUpperCase(), ` ${beacon.name} `, wide(beacon.name)], (name) =>
      me.invoke('turn_on_light', { device_id: name }),
    ),
  ),
  refused('class tools with rooms and serial numbers of others', (me, { beacon, lock }) =>
    each([beacon.area, beacon.serial, lock.area, `${beacon.area}/${beacon.name}`, `@area/${beacon.area}`, '@type/light', '*'], (name) =>
      me.invoke('turn_on_light', { device_id: name }),
    ),
  ),
  refused('the own light as what it is not', (me) =>
    each(
      [
        ['set_thermostat', { device_id: 'desk-lamp', target_temp: 21 }],
        ['set_cover', { device_id: 'desk-lamp', open_percent: 10 }],
        ['control_device', { device_id: 'desk-lamp', command: 'unlock' }],
        ['control_device', { device_id: 'desk-lamp', command: 'set_temperature' }],
      ] as const,
      ([tool, params]) => me.invoke(tool, params),
    ),
  ),
  refused('several devices in the place of one', (me, { beacon }) =>
    each(
      [
        ['desk-lamp', beacon.id],
        [beacon.id],
        { id: beacon.id },
        { 0: beacon.id, length: 1 },
        `desk-lamp,${beacon.id}`,
        `desk-lamp ${beacon.id}`,
        `desk-lamp\n${beacon.id}`,
        null,
        true,
        7,
      ],
      (id) => me.invoke('turn_on_light', { device_id: id }),
    ),
  ),
  refused('devices behind members of every object', (me, { beacon }) =>
    each(
      [
        `{"__proto__":{"device_id":"${beacon.id}"}}`,
        `{"constructor":{"prototype":{"device_id":"${beacon.id}"}}}`,
        `{"device_id":{"__proto__":"${beacon.id}"}}`,
        `{"device_id":"desk-lamp","__proto__":{"brightness":1},"device_id":"${beacon.id}"}`,
      ],
      (body) => me.send({ method: 'POST', path: '/api/v1/tools/turn_on_light/invoke', body }),
    ),
  ),
  refused('one key twice, the second for another device', (me, { beacon }) =>
    me.send({
      method: 'POST',
      path: '/api/v1/tools/turn_on_light/invoke',
      body: `{"device_id":"desk-lamp","device_id":"${beacon.id}","\\u0064evice_id":"${beacon.id}"}`,
    }),
  ),
];

function title(text: string): string {
  return text.replace(/^./, (letter) => letter.toUpperCase());
}

/** Full-width forms, which a compatible normalisation makes ASCII. */
function wide(text: string): string {
  return text.replace(/[!-~]/g, (sign) => String.fromCodePoint(sign.charCodeAt(0) + 0xfee0));
}
