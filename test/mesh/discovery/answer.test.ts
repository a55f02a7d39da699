import { describe, expect, test } from 'vitest';
import { answerTo, type DnsRecord, serviceRecords } from '../../../src/mesh/discovery/dns-message.ts';

const TYPE = '_atmosphere-edge._tcp.local';
const NAME = `hub-a.${TYPE}`;
const records = serviceRecords({ name: 'hub-a', type: '_atmosphere-edge._tcp', port: 8082, txt: { v: '1' }, host: 'hub-a' }, [
  '10.0.0.1',
  'fe80::1',
]);

function answer(name: string, type: string, known: readonly DnsRecord[] = []) {
  return answerTo([{ name, type, wantsUnicast: false }], known, records);
}
const typesOf = (some: readonly DnsRecord[]) => some.map(({ type }) => type);

describe('answers', () => {
  test('to the type name the instance, with all that the asker will want next', () => {
    const { answers, additionals } = answer(TYPE, 'PTR');
    expect(answers).toEqual([{ name: TYPE, type: 'PTR', ttlSeconds: 4_500, isUnique: false, data: NAME }]);
    expect(typesOf(additionals)).toEqual(['SRV', 'TXT', 'A', 'AAAA', 'NSEC', 'NSEC']);
  });

  test('to the instance give host and port, and the addresses beside', () => {
    const { answers, additionals } = answer(NAME.toUpperCase(), 'SRV');
    expect(answers).toEqual([{ name: NAME, type: 'SRV', ttlSeconds: 120, isUnique: true, data: { target: 'hub-a.local', port: 8082 } }]);
    expect(typesOf(additionals)).toEqual(['A', 'AAAA', 'NSEC']);
  });

  test('to ANY give all of the name', () => {
    expect(typesOf(answer(NAME, 'ANY').answers)).toEqual(['SRV', 'TXT']);
    expect(typesOf(answer('hub-a.local', 'ANY').answers)).toEqual(['A', 'AAAA']);
  });

  test('list the type among the types of services', () => {
    expect(answer('_services._dns-sd._udp.local', 'PTR').answers).toMatchObject([{ data: TYPE, isUnique: false }]);
  });

  test('say what a name does not have', () => {
    expect(answer(NAME, 'A').answers).toMatchObject([{ type: 'NSEC', name: NAME, data: ['TXT', 'SRV'] }]);
    const onlyFour = serviceRecords({ name: 'hub-a', type: '_atmosphere-edge._tcp', port: 1, txt: {}, host: 'hub-a' }, ['10.0.0.1']);
    const { answers } = answerTo([{ name: 'hub-a.local', type: 'AAAA', wantsUnicast: false }], [], onlyFour);
    expect(answers).toMatchObject([{ type: 'NSEC', name: 'hub-a.local', data: ['A'], ttlSeconds: 120 }]);
  });

  test('are none for names of others', () => {
    expect(answer('hub-b.local', 'A')).toEqual({ answers: [], additionals: [] });
    expect(answer('_http._tcp.local', 'PTR')).toEqual({ answers: [], additionals: [] });
  });

  test('leave out what the asker knows for at least half its time', () => {
    expect(answer(TYPE, 'PTR', [{ ...records.pointer, ttlSeconds: 2_250 }]).answers).toEqual([]);
    expect(answer(TYPE, 'PTR', [{ ...records.pointer, ttlSeconds: 2_249 }]).answers).toHaveLength(1);
    expect(answer(TYPE, 'PTR', [{ ...records.pointer, data: `hub-b.${TYPE}` }]).answers).toHaveLength(1);
  });

  test('name each record once, whatever is asked how often', () => {
    const question = { name: TYPE, type: 'PTR', wantsUnicast: false };
    const { answers, additionals } = answerTo([question, question, { ...question, name: NAME, type: 'SRV' }], [], records);
    expect(typesOf(answers)).toEqual(['PTR', 'SRV']);
    expect(typesOf(additionals)).toEqual(['TXT', 'A', 'AAAA', 'NSEC', 'NSEC']);
  });
});
