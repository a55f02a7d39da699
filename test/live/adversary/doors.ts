import type { Json } from '../../../src/core/json.ts';
import { type Attempt, aboutOwn, each, harmless, refused } from './attempt.ts';

/** The doors themselves: forms of calls, headers, methods, paths, bodies. */
export const DOORS: readonly Attempt[] = [
  refused('calls in the words of OpenAI', (me, { lock, beacon }) =>
    each(
      [
        { name: `matter_${lock.slug}_unlock`, arguments: '{"pin":"73916428"}' },
        { name: 'turn_on_light', arguments: JSON.stringify({ device_id: beacon.id }) },
        { name: 'turn_on_light', arguments: { device_id: beacon.id } },
        { name: 'control_matter_device', arguments: JSON.stringify({ device_id: beacon.id, cluster: 'OnOff', command: 'On' }) },
      ],
      (call) => me.post('/api/v1/tool-calls', { id: 'call_1', type: 'function', function: call }),
    ),
  ),
  refused('calls in the words of Anthropic', (me, { lock, beacon }) =>
    each(
      [
        { name: `matter_${lock.slug}_unlock`, input: { pin: '73916428' } },
        { name: 'turn_on_light', input: { device_id: beacon.id } },
        { name: 'hub_mint_token', input: { agent_id: 'mine', permissions: ['*'] } },
      ],
      (call) => me.post('/api/v1/tool-calls', { id: 'call_1', type: 'tool_use', ...call }),
    ),
  ),
  harmless('a list of calls, the own one first', (me, { beacon }) =>
    me.post('/api/v1/tool-calls', [
      { id: 'a', type: 'tool_use', name: 'echo', input: { value: 1 } },
      { id: 'b', type: 'tool_use', name: 'turn_on_light', input: { device_id: beacon.id } },
    ]),
  ),
  refused('calls that say who makes them', (me, { beacon }) =>
    me.post('/api/v1/tool-calls', {
      id: 'a',
      type: 'tool_use',
      name: 'turn_on_light',
      input: { device_id: beacon.id },
      principal: { id: 'owner', kind: 'owner', permissions: ['*', 'admin:*'] },
      agent_id: 'owner',
      permissions: ['*'],
    }),
  ),
  refused('who it is and what it may, in the parameters', (me, { beacon }) =>
    each<Json>([{ principal: { kind: 'owner' } }, { agent_id: 'owner' }, { permissions: ['*'] }, { _principal: 'owner' }], (extra) =>
      me.invoke('turn_on_light', { device_id: beacon.id, ...(extra as object) } as Json),
    ),
  ),
  refused('who it is and what it may, in the headers', (me, { beacon }) =>
    each(
      [
        { 'x-agent-id': 'owner' },
        { 'x-caller-scopes': 'admin, invoke_tool, read_registry, *' },
        { 'x-permissions': '*' },
        { 'x-forwarded-user': 'owner' },
        { 'x-forwarded-for': '127.0.0.1' },
        { 'x-principal': '{"kind":"owner"}' },
        { forwarded: 'for=127.0.0.1;by=owner' },
        { cookie: 'token=owner; session=owner' },
        { 'x-original-url': '/api/v1/tokens' },
      ],
      (headers) => me.invoke('turn_on_light', { device_id: beacon.id }, { headers }),
    ),
  ),
  refused('scopes that leave out what is needed', (me) =>
    me.invoke('desk_lamp_turn_on', {}, { headers: { 'x-caller-scopes': 'read_registry' } }),
  ),
  refused('no token, tokens guessed, tokens half right', (me) =>
    each(
      [
        '',
        `at0.${'A'.repeat(43)}`,
        'at0.',
        'owner',
        'null',
        'undefined',
        me.token.slice(0, -1),
        me.token.toUpperCase(),
        `${me.token}=`,
        `${me.token} ${me.token}`,
        me.token.replace('at1.', 'at0.'),
        me.token.replace('at1.', 'at2.'),
      ],
      (token) => me.send({ path: '/api/v1/tools', token }),
    ),
  ),
  refused('other schemes, and tokens where none belong', (me) =>
    each(
      [
        { headers: { authorization: `Basic ${Buffer.from(`owner:${me.token}`).toString('base64')}` } },
        { headers: { authorization: `Digest ${me.token}` } },
        { headers: { authorization: me.token } },
        { headers: { authorization: `Bearer\t${me.token}` } },
        { headers: { cookie: `token=${me.token}` } },
        { headers: { 'proxy-authorization': `Bearer ${me.token}` } },
        { path: `/api/v1/tools?access_token=${me.token}` },
      ],
      (shot) => me.send({ path: '/api/v1/tokens', token: '', ...shot }),
    ),
  ),
  harmless('two credentials at once', (me) =>
    each([`Bearer ${me.token}`, `bearer ${me.token}`, 'Bearer owner'], (other) =>
      me.speak(
        `GET /api/v1/tokens HTTP/1.1\r\nHost: ${me.host}\r\nAuthorization: Bearer ${me.token}\r\nAuthorization: ${other}\r\nConnection: close\r\n\r\n`,
      ),
    ),
  ),
  refused('pages of other sites and names of other hosts', (me) =>
    each(
      [
        { host: 'evil.example' },
        { host: `hub.evil.example:${me.host.split(':')[1]}` },
        { host: `127.0.0.1.nip.io:${me.host.split(':')[1]}` },
        { origin: 'https://evil.example' },
        { origin: 'null' },
        { origin: `http://${me.host}.evil.example` },
      ] as Readonly<Record<string, string>>[],
      (headers) => me.send({ path: '/api/v1/tools', headers }),
    ),
  ),
  harmless('the question which methods there are', (me) => me.send({ method: 'OPTIONS', path: '/api/v1/tokens' })),
  refused('other methods by their own name or another', (me, { beacon, token }) =>
    each(
      [
        { method: 'PUT', path: `/api/v1/devices/${beacon.id}` },
        { method: 'PATCH', path: `/api/v1/devices/${beacon.id}` },
        { method: 'DELETE', path: `/api/v1/devices/${beacon.id}` },
        { method: 'TRACE', path: '/api/v1/tokens' },
        { path: `/api/v1/tokens/${token}`, headers: { 'x-http-method-override': 'DELETE' } },
        { method: 'POST', path: `/api/v1/tokens/${token}?_method=DELETE`, body: '{}' },
      ],
      (shot) => me.send(shot),
    ),
  ),
  refused('paths that mean another one', (me) =>
    each(
      [
        '/api/v1/tools/../tokens',
        '/api/v1/tools/%2e%2e/tokens',
        '/api/v1/./tokens',
        '/api/v1//tokens',
        '/api/v1/tokens/',
        '/api/v1/%74okens',
        '/API/v1/tokens',
        '/api/v1/tokens;.json',
        '/api/v1/tokens%00',
        '/api/v1/tokens#',
        '/../owner.token',
        '/..%2f..%2fowner.token',
        '/static/../../owner.token',
        '/owner.token',
        '/hub.key',
      ],
      (path) => me.get(path),
    ),
  ),
  refused('the path of a call that leads to another tool', (me, { lock }) =>
    each(
      [
        `/api/v1/tools/desk_lamp_turn_on/../matter:${lock.slug}_unlock/invoke`,
        `/api/v1/tools/desk_lamp_turn_on%2F..%2Fmatter:${lock.slug}_unlock/invoke`,
        `/api/v1/tools/matter%3A${lock.slug}_unlock/invoke`,
        `/api/v1/tools/matter%253A${lock.slug}_unlock/invoke`,
        `/api/v1/tools/matter:${lock.slug}_unlock/invoke/`,
        `/api/v1/tools//matter:${lock.slug}_unlock/invoke`,
        `/api/v1/tools/matter:${lock.slug}_unlock%00/invoke`,
      ],
      (path) => me.send({ method: 'POST', path, body: '{}' }),
    ),
  ),
  refused('bodies that are no objects', (me) =>
    each(['[]', '"x"', '1', 'null', 'true', '{', '', '{"a":1}{"b":2}', '\u0000', '{"a":NaN}'].slice(0, 6), (body) =>
      me.send({ method: 'POST', path: '/api/v1/tools/turn_on_light/invoke', body }),
    ),
  ),
  refused('bodies too deep', (me) =>
    each([`{"a":${'['.repeat(5_000)}${']'.repeat(5_000)}}`, `${'{"a":'.repeat(40)}1${'}'.repeat(40)}`], (body) =>
      me.send({ method: 'POST', path: '/api/v1/tools/echo/invoke', body }),
    ),
  ),
  refused('bodies too large', (me) =>
    me.send({ method: 'POST', path: '/api/v1/tools/echo/invoke', body: JSON.stringify({ value: 'x'.repeat(70_000) }) }),
  ),
  refused('bodies of other types', (me, { beacon }) =>
    each(
      ['text/plain', 'application/x-www-form-urlencoded', 'application/json; charset=utf-16', 'multipart/form-data; boundary=x'],
      (type) =>
        me.send({
          method: 'POST',
          path: '/api/v1/tools/turn_on_light/invoke',
          body: JSON.stringify({ device_id: beacon.id }),
          headers: { 'content-type': type },
        }),
    ),
  ),
  refused('a second request hidden in the first', (me, { beacon }) =>
    each(
      [
        `POST /api/v1/tools/echo/invoke HTTP/1.1\r\nHost: ${me.host}\r\nAuthorization: Bearer x\r\nContent-Type: application/json\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n{}GET /api/v1/devices/${beacon.id} HTTP/1.1\r\n\r\n`,
        `GET /api/v1/tools HTTP/1.1\r\nHost: ${me.host}\r\nHost: evil.example\r\nConnection: close\r\n\r\n`,
        `GET /api/v1/devices/${beacon.id} HTTP/1.0\r\n\r\n`,
        'GET / HTTP/9.9\r\n\r\n',
      ],
      (text) => me.speak(text),
    ),
  ),
  refused('queries that no route knows', (me, { beacon }) =>
    each(
      [
        `/api/v1/tools?device=desk-lamp&device=${beacon.id}`,
        '/api/v1/tools?all=true',
        '/api/v1/tools?principal=owner',
        '/api/v1/tools?limit=99999999',
        '/api/v1/tools?cursor=-1',
        '/api/v1/tools?__proto__=x',
        '/api/v1/tools?format=mcp%00',
        `/api/v1/devices?id=${beacon.id}`,
      ],
      (path) => me.get(path),
    ),
  ),
  refused('proofs, traces and keys that are none', (me) =>
    each([{ 'atmo-proof': '../../x' }, { 'idempotency-key': 'x'.repeat(129) }, { 'x-timeout-ms': '-1' }], (headers) =>
      me.invoke('echo', { value: 1 }, { headers }),
    ),
  ),
  aboutOwn('a trace that names somebody else', (me, { agent }) =>
    me.invoke(
      'echo',
      { value: 1 },
      { headers: { traceparent: '00-ffffffffffffffffffffffffffffffff-ffffffffffffffff-01', 'x-request-id': agent } },
    ),
  ),
  refused('the doors that a hub does not have', (me) =>
    each(
      ['/mcp', '/admin', '/debug', '/.env', '/api/v2/tools', '/api/v1/state', '/api/v1/config', '/api/v1/logs', '/api/v1/backup'],
      (path) => me.get(path),
    ),
  ),
  harmless('more calls at once than fit', async (me) => {
    const all = await Promise.all(Array.from({ length: 60 }, () => me.again().invoke('echo', { value: 'flood' })));
    if (all.every(({ status }) => status === 0)) throw new RangeError('the hub answered none of them');
  }),
];
