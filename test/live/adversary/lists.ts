import { type Attempt, aboutOwn, each, harmless, refused } from './attempt.ts';

/** Everything that lists, searches, suggests or tells. */
export const LISTS: readonly Attempt[] = [
  harmless('every list of tools', (me) =>
    each(
      ['/api/v1/tools?limit=1000', '/api/tools', '/api/v1/tools?format=openai&limit=1000', '/api/v1/tools?format=anthropic&limit=1000'],
      (path) => me.get(path),
    ),
  ),
  harmless('pages of tools beyond the own ones', (me) =>
    each([0, 10, 20, 50, 100, 1_000], (cursor) => me.get(`/api/v1/tools?cursor=${cursor}&limit=1`)),
  ),
  // Words of a name may mean something by themselves, such as warmth: what is found of the attacker's own then differs from what
  // letters without meaning find.
  aboutOwn('search with the names of others', (me, { lock, beacon, climate, gauge }) =>
    each([lock.name, beacon.name, climate.name, gauge.name, lock.area, beacon.slug, `unlock the ${lock.name}`], (text) =>
      me.get(`/api/v1/tools?q=${encodeURIComponent(text)}&limit=100`),
    ),
  ),
  refused('tools of another device by filter', (me, { lock, beacon }) =>
    each([lock.id, lock.name, lock.name.toUpperCase(), beacon.id], (text) => me.get(`/api/v1/tools?device=${encodeURIComponent(text)}`)),
  ),
  harmless('tools and devices of another room by filter', (me, { lock, beacon }) =>
    each([lock.area, beacon.area], async (area) => {
      await me.get(`/api/v1/tools?area=${area}`);
      await me.get(`/api/v1/devices?area=${area}`);
      await me.get(`/api/v1/sensors?area=${area}`);
      await me.get(`/api/v1/tools?q=light&area=${area}`);
    }),
  ),
  harmless('every list of devices, by every filter', (me) =>
    each(['', '?reachability=reachable', '?reachability=unreachable', '?reachability=unknown'], (query) =>
      me.get(`/api/v1/devices${query}`),
    ),
  ),
  refused('other devices by id, name, room and serial number', (me, { lock, beacon }) =>
    each([lock.id, lock.name, lock.area, lock.serial, beacon.id, lock.id.toUpperCase(), `${lock.id}?`, `${lock.id}/`], (text) =>
      me.get(`/api/v1/devices/${encodeURIComponent(text)}`),
    ),
  ),
  refused('other devices by paths that lead there', (me, { lock }) =>
    each(
      [
        `/api/v1/devices/desk-lamp/../${lock.id}`,
        `/api/v1/devices/desk-lamp%2F..%2F${lock.id}`,
        `/api/v1/devices/desk-lamp/%2e%2e/${lock.id}`,
        `/api/v1/devices/./${lock.id}`,
        `/api/v1//devices/${lock.id}`,
        `//api/v1/devices/${lock.id}`,
        `/api/v1/devices/${lock.id}%00`,
        `/api/v1/devices;x=1/${lock.id}`,
        `/api/v1/devices/${lock.id}.json`,
        `/API/V1/DEVICES/${lock.id}`,
        `/api/v1/devices\\${lock.id}`,
        `/api/v1/tools/../devices/${lock.id}`,
        `http://127.0.0.1/api/v1/devices/${lock.id}`,
      ],
      (path) => me.get(path),
    ),
  ),
  refused('other devices with descriptions', (me, { lock }) =>
    each([`?describe=true`, '?describe=1'], (query) => me.get(`/api/v1/devices/${lock.id}${query}`)),
  ),
  harmless('the own device with everything that is told of it', (me) => me.get('/api/v1/devices/desk-lamp?describe=true')),
  harmless('the list of sensors, by every filter', (me, { gauge }) =>
    each(['', '?kind=temperature', `?device=${gauge.id}`, `?area=${gauge.area}`], (query) => me.get(`/api/v1/sensors${query}`)),
  ),
  refused('readings of others, however the id is written', (me, { sensor }) =>
    each(
      [
        sensor,
        sensor.replace('/', '%2F'),
        sensor.replace('/', '%252F'),
        sensor.toUpperCase(),
        `x/../${sensor}`,
        `./${sensor}`,
        `desk-lamp%2F..%2F${sensor.replace('/', '%2F')}`,
        `${sensor}%00`,
        `${sensor}/`,
        `${sensor}/readings`,
      ],
      (id) => me.get(`/api/v1/sensors/${id}/readings`),
    ),
  ),
  refused('readings of others in buckets, ranges and numbers', (me, { sensor }) =>
    each(['?every=5m', '?agg=max', '?since=2020-01-01', '?limit=1', '?since=99w&until=0ms'], (query) =>
      me.get(`/api/v1/sensors/${sensor}/readings${query}`),
    ),
  ),
  refused('readings by tool, by id, title, device, room', (me, { sensor, gauge }) =>
    each([sensor, gauge.id, gauge.name, gauge.area, gauge.name.toUpperCase(), '*', ''], async (text) => {
      await me.invoke('query_sensor', { sensor_id: text });
      await me.invoke('read_temperature', { location: text });
    }),
  ),
  harmless('capabilities', (me) => me.get('/api/v1/capabilities')),
  refused('metrics', (me) => each(['/metrics', '/metrics/', '/metrics?x=1', '//metrics'], (path) => me.get(path))),
  harmless('the description of the API', (me) => each(['/openapi.json', '/openapi.json?tools=true'], (path) => me.get(path))),
  harmless('health, with a challenge', (me) => each(['/healthz', `/healthz?challenge=${'A'.repeat(43)}`], (path) => me.get(path))),
  aboutOwn('usage, of all and of others', (me, { agent }) =>
    each(['', '?limit=500', `?agent=${agent}`, '?agent=owner'], (query) => me.get(`/api/tools/usage${query}`)),
  ),
  refused('the journal and all about it', async (me, { request, agent }) => {
    await me.get('/api/v1/audit');
    await me.get(`/api/v1/audit?request=${request}`);
    await me.get(`/api/v1/audit?agent=${agent}`);
    await me.get('/api/v1/audit/head');
    await me.post('/api/v1/audit/verify', {});
    await me.post('/api/v1/audit/replay', { request });
    await each(['read_audit', 'audit_head', 'verify_audit', 'replay_audit'], (tool) => me.invoke(`hub:${tool}`, {}));
  }),
  refused('rules, listed and tried', async (me, { lock }) => {
    await me.get('/api/v1/rules');
    await me.post('/api/v1/rules/test', { tool: `matter:${lock.slug}_unlock` });
    await me.invoke('hub:list_rules', {});
    await me.invoke('hub:test_rules', { tool: 'set_thermostat', params: { device_id: 'desk-lamp' } });
  }),
  refused('events of types that do not exist', (me) =>
    each(['*', 'secret.*', 'sensor', '__proto__'], (types) => me.get(`/api/v1/events?types=${types}`)),
  ),
];
