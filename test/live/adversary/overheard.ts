import { type Attempt, aboutOwn, each, overhearing } from './attempt.ts';

/** What tells of the past and the present of the hub. These come first: later it would also tell what the attacker said itself. */
export const OVERHEARD: readonly Attempt[] = [
  overhearing('the stream of all events', (me) => me.send({ path: '/api/v1/events', listenMs: 700 })),
  overhearing('events of a type that is not its own', (me) =>
    me.send({ path: '/api/v1/events?types=sensor.reading,device.*,approval.*,token.*,agent.changed,hub.warning', listenMs: 700 }),
  ),
  overhearing('events of others after an id of theirs', (me, { event }) =>
    me.send({ path: '/api/v1/events', headers: { 'last-event-id': event }, listenMs: 300 }),
  ),
  overhearing('events from the beginning', (me) =>
    each(['0', '1', '', '-1', '../', 'null'], (id) => me.send({ path: '/api/v1/events', headers: { 'last-event-id': id }, listenMs: 60 })),
  ),
  aboutOwn('the list of jobs', (me) => me.get('/api/v1/jobs?limit=1000')),
  aboutOwn('the list of agents', (me) => me.invoke('list_agents', {})),
  aboutOwn('usage, with nobody named', (me) => each(['', '?limit=500'], (query) => me.get(`/api/tools/usage${query}`))),
  aboutOwn('approvals and tokens, with nobody named', (me) =>
    each(['/api/v1/approvals', '/api/v1/approvers', '/api/v1/tokens'], (path) => me.get(path)),
  ),
];
